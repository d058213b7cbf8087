"""The listeners: one for each kind of credential, so that an agent's socket does not even have the admin service.

`transport/http2` has one, and `transport/grpc/server.py` the one that grpcio brings. Both serve the same RPCs.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

GATEWAY_SERVICE = "interlock.v1.GatewayService"
ADMIN_SERVICE = "interlock.v1.AdminService"
APPROVAL_SERVICE = "interlock.v1.ApprovalService"
HUB_SERVICE = "interlock.v1.ProviderHubService"
LAST_WORDS_S = 0.1
"""How long an answer that was given may take to leave."""


class Listener(Protocol):
    """Addresses that are listened on, with the RPCs that are served there."""

    def listen(self, address: str, socket_mode: int) -> str:
        """Bind to `address`; the address in full, with the port that was chosen. Raises `ConfigError`."""

    async def start(self) -> None:
        """Serve."""

    async def stop(self, grace_s: float) -> None:
        """Take no new calls; give those in flight `grace_s` seconds."""

    async def send_away(self, grace_s: float) -> None:
        """Have those who came over TCP come again, by whatever is before this gateway, and serve on.

        What they asked for may go on for `grace_s` seconds.
        """


async def stop_all(listeners: Sequence[Listener], over: Coroutine[Any, Any, None], grace_s: float) -> None:
    """Stop `listeners`: at once for new RPCs, and for those under way when all is `over`, in `grace_s` at most.

    Watches of health and reflection have no end of their own, and are not waited for.
    """
    stopping = asyncio.gather(*(listener.stop(grace_s) for listener in listeners))
    ended = asyncio.create_task(over)
    try:
        await asyncio.wait((stopping, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.cancel()
    await asyncio.gather(*(listener.stop(LAST_WORDS_S) for listener in listeners))
    await stopping
