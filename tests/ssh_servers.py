"""Real SSH servers on this machine, each with a key of its own and for one user's key."""

import asyncio
import contextlib
import getpass
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh
from interlock.toolbox.remote.ssh import Target

USER = "worker"


@dataclass(frozen=True, slots=True)
class SshServer:
    """A server that runs. `config` is for whoever connects: it names the key, the user and `known_hosts`."""

    target: Target
    config: Path
    known_hosts: Path
    connections: "Connections | None"

    def kill_connections(self) -> None:
        """End every connection at once, as a network that breaks would."""
        assert self.connections is not None
        self.connections.kill()


class Connections:
    """The connections of a server in this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._all = set[asyncssh.SSHServerConnection]()

    def add(self, connection: asyncssh.SSHServerConnection) -> None:
        self._all.add(connection)

    def remove(self, connection: asyncssh.SSHServerConnection) -> None:
        self._all.discard(connection)

    def kill(self) -> None:
        async def kill() -> None:
            for connection in list(self._all):
                connection.abort()

        asyncio.run_coroutine_threadsafe(kill(), self._loop).result(10)

    def __len__(self) -> int:
        return len(self._all)


def configured(directory: Path, host_key: str, port: int) -> tuple[Path, Path]:
    """A configuration of SSH for a server on that port, and its `known_hosts`; the user's key is made by the caller."""
    known = directory / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {host_key}\n")
    config = directory / "config"
    config.write_text(f"UserKnownHostsFile {known}\nIdentityFile {directory}/key\nIdentityAgent none\n")
    return config, known


def made_key(directory: Path) -> str:
    """A user's key in the directory; its public half."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(directory / "key")
    (directory / "key").chmod(0o600)
    return key.export_public_key().decode().strip()


async def pumped(source: Any, target: Any, *, close: bool = False) -> None:
    """Everything from one stream to another, until either ends."""
    with contextlib.suppress(asyncssh.Error, OSError):
        while block := await source.read(65536):
            target.write(block)
            await target.drain()
    if close:
        target.close()


@contextlib.contextmanager
def asyncssh_server(directory: Path, *, path: str = "/usr/local/bin:/usr/bin:/bin") -> Iterator[SshServer]:
    """asyncssh's own server, whose sessions are processes of this machine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    connections = Connections(loop)
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    public = made_key(directory)

    class Server(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            self.connection = conn
            connections.add(conn)

        def connection_lost(self, _exc: Exception | None) -> None:
            connections.remove(self.connection)

    async def session(process: "asyncssh.SSHServerProcess[bytes]") -> None:
        local = await asyncio.create_subprocess_exec(
            *("/bin/bash", "-c", process.command or "true"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=directory,
            env={"PATH": path, "HOME": str(directory), "OPERATORS_TOKEN": "not for commands"},
        )
        assert local.stdin is not None
        assert local.stdout is not None
        assert local.stderr is not None
        feeding = asyncio.create_task(pumped(process.stdin, local.stdin, close=True))
        await asyncio.gather(pumped(local.stdout, process.stdout), pumped(local.stderr, process.stderr))
        process.exit(await local.wait())
        feeding.cancel()

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=Server,
            server_host_keys=[host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(public),
            process_factory=session,
            encoding=None,
        )

    acceptor = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    port = acceptor.get_port()
    config, known = configured(directory, host_key.export_public_key().decode().strip(), port)
    try:
        yield SshServer(Target("127.0.0.1", USER, port), config, known, connections)
    finally:
        connections.kill()

        async def close() -> None:
            acceptor.close()
            await acceptor.wait_closed()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.wait_for(asyncio.gather(*rest, return_exceptions=True), 20)

        asyncio.run_coroutine_threadsafe(close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class NoOpenSshError(Exception):
    """OpenSSH's server cannot be run on this machine, and why."""


@contextlib.contextmanager
def openssh_server(directory: Path) -> Iterator[SshServer]:
    """OpenSSH's own server, one process for each connection, over pipes and not a port.

    As root it takes an account and a directory that only its installation makes: it then runs where both are there for
    it alone. Raises NoOpenSshError.
    """
    sshd, environment = _sshd()
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    host_key.write_private_key(directory / "host_key")
    (directory / "host_key").chmod(0o600)
    (directory / "authorized_keys").write_text(made_key(directory) + "\n")
    (directory / "sshd_config").write_text(
        f"HostKey {directory}/host_key\nAuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\nPermitRootLogin yes\n"
    )
    known = directory / "known_hosts"
    known.write_text(f"openssh.test {host_key.export_public_key().decode().strip()}\n")
    serve = f"exec {sshd} -i -f {directory}/sshd_config -E {directory}/sshd.log"
    (directory / "passwd").write_text(Path("/etc/passwd").read_text() + _ACCOUNT)
    as_root = (
        f"mount --make-rprivate / && mount --bind {directory}/passwd /etc/passwd && mount -t tmpfs none /run && "
        f"mkdir -p /run/sshd && {serve}"
    )
    alone = f'exec unshare --mount /bin/sh -c "{as_root}"'
    (directory / "serve").write_text(f"#!/bin/sh\n{environment}\n{alone if os.geteuid() == 0 else serve}\n")
    (directory / "serve").chmod(0o700)
    config = directory / "config"
    config.write_text(
        f"UserKnownHostsFile {known}\nIdentityFile {directory}/key\nIdentityAgent none\n"
        f"ProxyCommand {directory}/serve\n"
    )
    yield SshServer(Target("openssh.test", getpass.getuser()), config, known, None)


_ACCOUNT = "sshd:x:74:74:for sshd:/run/sshd:/usr/sbin/nologin\n"


def _sshd() -> tuple[Path, str]:
    """The program, and what its environment needs. Raises NoOpenSshError."""
    ours = Path(__file__).resolve().parent.parent / ".tools/sshd"
    program = next((one for one in (ours / "usr/sbin/sshd", Path("/usr/sbin/sshd")) if one.exists()), None)
    if program is None:
        raise NoOpenSshError("sshd is missing (run `make tools`, or install OpenSSH's server)")
    if os.geteuid() == 0:
        tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
        if tried.returncode:
            raise NoOpenSshError("sshd cannot be run as root here (it takes a mount namespace of its own)")
    libraries = ":".join(str(one.parent) for one in ours.glob("usr/lib/*/libwrap.so.0"))
    return program, f"export LD_LIBRARY_PATH={libraries}" if libraries else ""
