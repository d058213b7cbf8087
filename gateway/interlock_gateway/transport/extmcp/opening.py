"""The surface for other MCP gateways, as long as nothing of it is needed: what it is made of takes a while to load."""

from typing import TYPE_CHECKING

from interlock_gateway.config import Config
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.directory import Directory
from interlock_gateway.transport.health import Health
from interlock_gateway.transport.tls.server_tls import ServerTls

if TYPE_CHECKING:
    from interlock_gateway.transport.extmcp.listening import ExtMcpListener

LAST_WORDS_S = 0.1


class OtherGateways:
    """MCP gateways that carry calls themselves, and ask here about them, if the configuration has any."""

    def __init__(
        self, config: Config, parts: Parts, pipeline: CallPipeline, directory: Directory, health: Health
    ) -> None:
        self._config = config
        self._rooms = (parts, pipeline, directory, health)
        self._listener: ExtMcpListener | None = None

    async def listen(self, door: Authenticator, tls: ServerTls | None) -> tuple[str, ...]:
        """Serve them; where. Raises `ConfigError`."""
        if not self._config.extmcp.listen:
            return ()
        from interlock_gateway.transport.extmcp.listening import ExtMcpListener  # noqa: PLC0415 -- only who has any pays

        self._listener = ExtMcpListener(self._config, *self._rooms)
        found = self._listener.listen(door, tls)
        await self._listener.start()
        return found

    async def over(self) -> None:
        """Return when every call that was let through has its result."""
        if self._listener is not None:
            await self._listener.over()

    async def stop(self) -> None:
        """End."""
        if self._listener is not None:
            await self._listener.stop(LAST_WORDS_S)
