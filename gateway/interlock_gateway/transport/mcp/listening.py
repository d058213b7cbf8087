"""The listeners of MCP. Nothing of the SDK is loaded before a client comes: it is large, and takes most of a second."""

import asyncio
import contextlib
import logging
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import ConfigError
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.identity.peer import Peer
from interlock_gateway.providers.mcp.loading import load
from interlock_gateway.transport.grpc.binding import only_owner, refuse_taken
from interlock_gateway.transport.mcp.opened import failed, succeeded
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.tls.server_tls import ServerTls

if TYPE_CHECKING:
    from interlock_gateway.transport.mcp.http_door import HttpDoor
    from interlock_gateway.transport.mcp.surface import Surface

BACKLOG = 128
LAST_WORDS_S = 2.0
"""How long answers may take to be written, once there are no more to come."""
_log = logging.getLogger(__name__)


class McpListener:
    """The addresses of `mcp.listen`.

    `agents` says whose Unix sockets are, `door` who comes in over TCP, which is encrypted with `tls` if there is any.
    """

    def __init__(self, parts: SurfaceParts, agents: Authenticator, door: Authenticator, tls: ServerTls | None) -> None:
        self._parts = parts
        self._tls = tls
        self._agents = agents
        self._door = door
        self._surface: asyncio.Task[Surface] | None = None
        self._bound: list[tuple[socket.socket, Path | None]] = []
        self._servers: list[asyncio.Server] = []
        self._doors: list[HttpDoor] = []
        self._streams: set[asyncio.Task[None]] = set()
        self._inodes: dict[Path, int] = {}

    def listen(self, address: str, socket_mode: int) -> str:
        """Bind to `address`; the address in full, with the port that was chosen. Raises `ConfigError`."""
        try:
            refuse_taken(address)
            match parse_address(address):
                case UnixAddress(path):
                    self._bind_unix(Path(path), socket_mode, address)
                    return address
                case TcpAddress() as place:
                    return self._bind_tcp(place)
        except OSError as error:
            raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None

    def sessions(self) -> dict[str, int]:
        """How many MCP sessions are open: connections of sockets, and sessions over HTTP."""
        return {"socket": len(self._streams), "http": sum(door.sessions for door in self._doors)}

    async def start(self) -> None:
        """Serve."""
        for bound, path in self._bound:
            if path is None:
                self._doors.append(self._http(bound))
            else:
                limit = self._parts.open_rpcs.max_bytes
                self._servers.append(await asyncio.start_unix_server(self._connected, sock=bound, limit=limit))

    async def send_away(self, grace_s: float) -> None:
        """Do nothing: sessions of MCP belong to the process that they were opened at."""

    async def stop(self, grace_s: float) -> None:
        """Take no new connections; give requests under way `grace_s` seconds, and then end every session."""
        self._close_doors()
        surface = await succeeded(self._surface)
        if surface is not None:
            surface.say_goodbye()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._parts.open_rpcs.none()
        await self._answers_written()
        for task in self._streams:
            task.cancel()
        await asyncio.gather(*(door.stop() for door in self._doors), *self._streams, return_exceptions=True)
        if surface is not None:
            surface.close()

    async def _answers_written(self) -> None:
        """Return when clients have been written what they asked for, or a moment has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._parts.unanswered.none()

    async def surface(self) -> "Surface":
        """The MCP server, loaded beside the loop when it is first asked for; once more, if that went wrong."""
        if self._surface is None or failed(self._surface):
            self._surface = asyncio.create_task(_loaded(self._parts))
            self._surface.add_done_callback(_say_failed)
        return await asyncio.shield(self._surface)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._streams) >= self._parts.config.max_connections:
            _log.warning(
                "an MCP connection was refused: there are too many", extra={"most": self._parts.config.max_connections}
            )
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        principal = self._agents.principal((), Peer(local=True))
        assert isinstance(principal, Principal), "who may open a socket is known at once"
        try:
            surface = await self.surface()
            from interlock_gateway.transport.mcp.stream import serve_stream  # noqa: PLC0415 -- loaded with the surface

            await serve_stream(surface, reader, writer, principal)
        except Exception:  # noqa: BLE001 - one connection that fails is no reason for the others to end
            _log.exception("an MCP connection failed")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _http(self, bound: socket.socket) -> "HttpDoor":
        # The HTTP server takes a third of a second to load: only who listens on TCP pays for it.
        from interlock_gateway.transport.mcp.http_door import HttpDoor  # noqa: PLC0415 -- as said above

        door = HttpDoor(self._parts, self._door, self.surface, bound, self._tls)
        door.start()
        return door

    def _bind_unix(self, path: Path, socket_mode: int, address: str) -> None:
        if not path.parent.is_dir():
            raise ConfigError(f"cannot listen on {address}: there is no directory {path.parent}")
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()  # nobody answers on it: left behind by a killed process
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._bound.append((bound, path))
        with only_owner():
            bound.bind(str(path))
        path.chmod(socket_mode)
        self._inodes[path] = path.stat().st_ino
        bound.listen(BACKLOG)

    def _bind_tcp(self, place: TcpAddress) -> str:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        bound = socket.create_server((place.host, place.port), family=family, backlog=BACKLOG)
        self._bound.append((bound, None))
        port = bound.getsockname()[1]
        return f"[{place.host}]:{port}" if ":" in place.host else f"{place.host}:{port}"

    def _close_doors(self) -> None:
        for server in self._servers:
            server.close()
        for door in self._doors:
            door.close()
        if not (self._servers or self._doors):  # what serves closes its sockets itself
            for bound, _ in self._bound:
                bound.close()
        for path, inode in self._inodes.items():
            # Another gateway may have taken the path meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == inode:
                    path.unlink()
        self._servers, self._bound, self._inodes = [], [], {}


def _say_failed(loading: "asyncio.Task[Surface]") -> None:
    if failed(loading) and not loading.cancelled():
        _log.error("MCP could not be loaded", exc_info=loading.exception())


async def _loaded(parts: SurfaceParts) -> "Surface":
    home = "interlock_gateway.transport.mcp"
    await asyncio.to_thread(load, f"{home}.surface", f"{home}.stream", f"{home}.http_host")
    from interlock_gateway.transport.mcp.surface import Surface  # noqa: PLC0415 -- loaded a moment ago

    return Surface(parts)
