"""Addresses that are listened on, and the connections that come in there."""

import asyncio
import errno
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address
from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.grpc.binding import only_owner, refuse_taken
from interlock_gateway.transport.grpc.endpoint import Served
from interlock_gateway.transport.http2.connection import ServerConnection
from interlock_gateway.transport.http2.intake import Intake
from interlock_gateway.transport.http2.tls_door import TlsDoor
from interlock_gateway.transport.tls.server_tls import ServerTls

BACKLOG = 1024
HELD_REQUESTS = 32
"""How many requests of the largest size may be arriving at once, in bytes: beyond that they are refused."""
LAST_WORDS_S = 1.0
"""How long a call that was ended may take to tidy up, and its status to leave."""
TAKING_S = 0.02
"""How often it is looked at the end whether clients have taken their answers."""
_ABSENT = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class Http2Listener:
    """Listens on any number of addresses, and serves the same RPCs on each; on TCP with `tls`, if it is given."""

    def __init__(self, served: Mapping[str, Served], max_bytes: int, tls: ServerTls | None = None) -> None:
        by_path = {path.encode(): rpc for path, rpc in served.items()}
        gate = next((rpc.gate for rpc in served.values() if rpc.gate is not None), None)
        self._intake = Intake(by_path, max_bytes, HELD_REQUESTS * max_bytes, gate)
        self._sockets: list[socket.socket] = []
        self._paths: list[tuple[Path, int]] = []
        self._servers: list[asyncio.Server] = []
        self._until = float("-inf")
        self._tls = tls
        self._doors: list[asyncio.Task[None]] = []
        if tls is not None:
            tls.when_authorities_change(self._send_away)

    def listen(self, address: str, socket_mode: int) -> str:
        """Bind to `address`; the address in full, with the port that was chosen. Raises `ConfigError`."""
        try:
            refuse_taken(address)
            match parse_address(address):
                case UnixAddress(path):
                    self._bind_unix(Path(path), socket_mode, address)
                    return address
                case TcpAddress() as tcp:
                    return f"{address.rpartition(':')[0]}:{self._bind_tcp(tcp)}"
        except OSError as error:
            raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None

    async def start(self) -> None:
        """Serve."""
        loop = asyncio.get_running_loop()
        for bound in self._sockets:
            if self._tls is not None and bound.family != socket.AF_UNIX:
                self._doors.append(loop.create_task(TlsDoor(bound, self._intake, self._tls).run()))
                continue
            make = loop.create_unix_server if bound.family == socket.AF_UNIX else loop.create_server
            self._servers.append(await make(lambda: ServerConnection(self._intake), sock=bound, backlog=BACKLOG))

    async def stop(self, grace_s: float) -> None:
        """Take no new calls; give those in flight `grace_s` seconds."""
        self._close_doors()
        now = asyncio.get_running_loop().time()
        self._until = max(self._until, now + grace_s)
        for connection in tuple(self._intake.connections):
            connection.go_away()
        await self._left(grace_s)
        await self._answers_taken()
        tasks = [call.task for connection in self._intake.connections for call in connection.calls if call.task]
        for connection in tuple(self._intake.connections):
            connection.end()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_WORDS_S)
        await self._left(LAST_WORDS_S)
        for connection in tuple(self._intake.connections):
            connection.abort()

    async def _answers_taken(self) -> None:
        """Return when clients have taken the answers that were given, which large ones take a while to do."""
        loop = asyncio.get_running_loop()
        while any(one.owes for one in self._intake.connections) and loop.time() < self._until:  # noqa: ASYNC110 - seldom
            await asyncio.sleep(TAKING_S)

    async def send_away(self, grace_s: float) -> None:
        """Have those who came over TCP come again, by whatever is before this gateway, and serve on."""
        connections = [one for one in self._intake.connections if one.peer.address]
        for connection in connections:
            connection.go_away()
        if connections:
            await asyncio.sleep(grace_s)
        for connection in connections:
            connection.end("this gateway cannot go on with it; ask again")

    async def _left(self, most_s: float) -> None:
        if self._intake.connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(most_s):
                    await self._intake.empty.wait()

    def _send_away(self) -> None:
        """Have those come again who were let in by authorities that may not be believed any more."""
        for connection in tuple(self._intake.connections):
            if connection.peer.certificate is not None:
                connection.go_away()

    def _close_doors(self) -> None:
        for task in (*self._doors, *self._intake.handshakes):
            task.cancel()
        for server in self._servers:
            server.close()
        for bound in self._sockets:
            bound.close()
        for path, inode in self._paths:
            # Another gateway may have taken the path meanwhile.
            with suppress(FileNotFoundError):
                if path.stat().st_ino == inode:
                    path.unlink()
        self._servers, self._sockets, self._paths, self._doors = [], [], [], []

    def _bind_unix(self, path: Path, socket_mode: int, address: str) -> None:
        if not path.parent.is_dir():
            raise ConfigError(f"cannot listen on {address}: there is no directory {path.parent}")
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()  # nobody answers on it: left behind by a killed process
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets.append(bound)
        with only_owner():
            bound.bind(str(path))
        path.chmod(socket_mode)
        self._paths.append((path, path.stat().st_ino))
        bound.listen(BACKLOG)

    def _bind_tcp(self, address: TcpAddress) -> int:
        port = address.port
        found = socket.getaddrinfo(address.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for number, (family, kind, protocol, _, place) in enumerate(dict.fromkeys(found)):
            bound = socket.socket(family, kind, protocol)
            try:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                bound.bind((place[0], port, *place[2:]))
            except OSError as error:
                bound.close()
                if number and error.errno in _ABSENT:
                    continue  # the name has an address that this machine does not have
                raise
            self._sockets.append(bound)
            port = bound.getsockname()[1]
            bound.listen(BACKLOG)
        return port
