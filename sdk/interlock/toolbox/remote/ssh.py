"""SSH to another host: its key is always verified, nobody is ever asked, and a far end is started there.

Keys, the agent, `known_hosts` and `~/.ssh/config` are read as OpenSSH's client reads them.
"""

import asyncio
import contextlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock._extras import extra
from interlock.toolbox.errors import UnreachableError
from interlock.toolbox.operations import Operations
from interlock.toolbox.remote.frames import READY
from interlock.toolbox.remote.near import operations_of
from interlock.toolbox.remote.reaching import Reaching, Wanted
from interlock.toolbox.remote.shipping import COMMAND, NO_LINUX, NO_PYTHON, OLDEST_PYTHON, shipment

with extra("ssh"):
    import asyncssh

CONNECT_S = 30.0
START_S = 60.0
_KEEPALIVE_S = 15.0
_KEEPALIVES = 3
_LOOK_S = 0.02
_PROXY_S = 3.0
_MOST_JUMPS = 8
_MOST_NOISE = 64 * 1024
_MOST_COMPLAINT = 300
_TARGET = re.compile(
    r"(?:(?P<user>[^\s@:/\-\x00-\x1f][^\s@:/\x00-\x1f]*)@)?"
    r"(?:\[(?P<address>[0-9A-Fa-f:.%a-z]+)\]|(?P<host>[A-Za-z0-9_][A-Za-z0-9_.\-]*))(?::(?P<port>\d{1,5}))?"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect to; what is None is what `~/.ssh/config` says."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.user}@{host}" if self.user else host


def target(text: str) -> Target:
    """Read `[user@]host[:port]`, the host in brackets when it is an IPv6 address. Raises ValueError."""
    found = _TARGET.fullmatch(text)
    port = int(found["port"]) if found is not None and found["port"] else None
    if found is None or port == 0 or (port or 0) > 65535:  # noqa: PLR2004 -- the last there is
        raise ValueError(f"{text!r} is not [user@]host[:port]")
    return Target(found["address"] or found["host"], found["user"], port)


@contextlib.contextmanager
def ssh_operations(where: Target, wanted: Wanted, *, config: Path | None = None) -> Iterator[Operations]:
    """Operations on another host, connected to for the block.

    `config` is read in place of `~/.ssh/config`. Raises UnreachableError with a sentence when the host cannot be
    reached or verified, ValueError for roots that cannot be served.
    """
    reaching = Reaching(str(where), lambda: dial(where, config), wanted)
    with reaching.running():
        yield operations_of(reaching)


async def dial(where: Target, config: Path | None = None) -> "SshPeer":
    """Connect, and start a far end. Raises UnreachableError."""
    try:
        connection = await asyncio.wait_for(_connected(where, config), CONNECT_S)
    except (asyncssh.Error, asyncssh.KeyImportError, asyncssh.ConfigParseError, OSError, ValueError) as error:
        raise UnreachableError(_why(where, error)) from error
    try:
        async with asyncio.timeout(START_S):
            return await _started(where, connection)
    except (asyncssh.Error, OSError) as error:
        connection.abort()
        raise UnreachableError(f"{where} could not be made to start Python: {_sentence(error)}") from error
    except BaseException:
        connection.abort()
        raise


async def _connected(where: Target, config: Path | None) -> asyncssh.SSHClientConnection:
    asked: dict[str, Any] = {"config": [str(config)]} if config is not None else {}
    asked |= {"username": where.user} if where.user else {}
    reach: dict[str, Any] = {"host": where.host, **({"port": where.port} if where.port else {})}
    options = asyncssh.SSHClientConnectionOptions(
        **reach,
        **asked,
        keepalive_interval=_KEEPALIVE_S,
        keepalive_count_max=_KEEPALIVES,
        password_auth=False,
        kbdint_auth=False,
        gss_kex=False,  # it would vouch for the host in place of its key
        agent_forwarding=False,
        x11_forwarding=False,
        command=None,
        request_pty=False,
    )
    _check_verified(options, asked.get("config", ()))
    proxies: list[subprocess.Popen[bytes] | None] = []

    class Made(asyncssh.SSHClient):
        def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
            proxies.append(conn.get_extra_info("subprocess"))

    known_hosts = options.known_hosts or ()
    try:
        return await asyncssh.connect(**reach, **asked, known_hosts=known_hosts, options=options, client_factory=Made)
    except BaseException:
        for proxy in proxies:
            await _proxy_ended(proxy)
        raise


def _check_verified(options: asyncssh.SSHClientConnectionOptions, config: Any, jumps: int = 0) -> None:
    """Raise ValueError where the key of the host, or of one on the way there, would not be verified."""
    if options.known_hosts is None:
        which = "the key of a host of ProxyJump" if jumps else "its key"
        raise ValueError(f"{which} would not be verified: UserKnownHostsFile is none in the configuration of SSH")
    if jumps > _MOST_JUMPS:
        raise ValueError("its ProxyJump leads on and on")
    if not isinstance(options.tunnel, str):
        return
    for jump in options.tunnel.split(","):
        user, _, address = jump.rpartition("@")
        host, colon, port = address.rpartition(":")
        where: dict[str, Any] = {"host": host, "port": int(port)} if colon else {"host": address}
        where |= {"username": user} if user else {}
        _check_verified(asyncssh.SSHClientConnectionOptions(**where, config=config), config, jumps + 1)


async def _started(where: Target, connection: asyncssh.SSHClientConnection) -> "SshPeer":
    process = await connection.create_process(COMMAND, encoding=None, env={}, send_env=[])
    peer = SshPeer(connection, process)
    heard = bytearray()
    with contextlib.suppress(OSError):  # what it said before it ended says more
        await peer.write(shipment())
    while READY not in heard:
        block = await peer.read(_MOST_NOISE)
        heard += block
        if NO_PYTHON in heard:
            oldest = ".".join(map(str, OLDEST_PYTHON))
            raise UnreachableError(
                f"{where} has no Python {oldest} or newer: install one there, as python3 or python{oldest}, "
                "where a command over SSH finds it"
            )
        if NO_LINUX in heard:
            raise UnreachableError(f"{where} is not Linux with /proc, which the toolbox works on over SSH")
        if not block or len(heard) > _MOST_NOISE:
            raise UnreachableError(f"{where} could not be made to start Python{peer.complaint()}")
    if not heard.endswith(READY):
        raise UnreachableError(f"{where} said more than it was asked")
    return peer


class SshPeer:
    """The standard input and output of a process over SSH."""

    def __init__(self, connection: asyncssh.SSHClientConnection, process: "asyncssh.SSHClientProcess[bytes]") -> None:
        self._connection, self._process = connection, process
        self._proxy = connection.get_extra_info("subprocess")
        self._said = bytearray()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def read(self, most: int) -> bytes:
        """Some bytes; none at the end."""
        try:
            return await self._process.stdout.read(most)
        except asyncssh.Error as error:
            raise ConnectionError(str(error)) from error

    async def write(self, content: bytes) -> None:
        """Write, and wait for room."""
        try:
            self._process.stdin.write(content)
            await self._process.stdin.drain()
        except asyncssh.Error as error:
            raise ConnectionError(str(error)) from error

    def abort(self) -> None:
        """End the connection at once."""
        self._listening.cancel()
        self._connection.abort()

    async def gone(self) -> None:
        """Wait until the connection is closed, and the program that a ProxyCommand may be has ended."""
        await self._connection.wait_closed()
        await _proxy_ended(self._proxy)

    def complaint(self) -> str:
        """What it said on its standard error, to be added to a sentence."""
        said = " ".join(self._said.decode(errors="replace").split())
        return f"; it said: {''.join(filter(str.isprintable, said))}" if said else ""

    async def _listen(self) -> None:
        """Read the standard error, so that it never fills up, and keep its beginning."""
        with contextlib.suppress(asyncssh.Error, OSError):
            while block := await self._process.stderr.read(_MOST_NOISE):
                self._said += block[: _MOST_COMPLAINT - len(self._said)]


async def _proxy_ended(proxy: "subprocess.Popen[bytes] | None") -> None:
    """Wait, but not for long, until the program that a ProxyCommand is has ended; it was killed by then."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PROXY_S):
            while proxy is not None and proxy.returncode is None:  # noqa: ASYNC110 -- only its transport is told
                await asyncio.sleep(_LOOK_S)


def _why(where: Target, error: Exception) -> str:
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return (
            f"{where} is not known: its key is not in known_hosts, or is another than the one there. Connect once with "
            f"ssh and compare the fingerprint that it shows with the host's own; that adds it ({_sentence(error)})"
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return (
            f"{where} accepts none of the keys: those of the agent, of ~/.ssh and its config were tried, keys with a "
            f"passphrase only through the agent, and nobody is asked for a password ({_sentence(error)})"
        )
    if isinstance(error, TimeoutError):
        return f"{where} cannot be reached: it did not answer within {CONNECT_S:.0f} seconds"
    return f"{where} cannot be reached: {_sentence(error)}"


def _sentence(error: Exception) -> str:
    words = " ".join(str(error).split())[:_MOST_COMPLAINT]
    return "".join(filter(str.isprintable, words)) or type(error).__name__
