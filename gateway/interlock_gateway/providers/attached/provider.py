"""A provider inside somebody else's process, called over the stream that it opened."""

from collections.abc import Awaitable, Callable
from typing import Any

from interlock.v1 import tool_provider_service_pb2 as rpc

from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import ProviderDownError
from interlock_gateway.providers.attached.link import FrameLink
from interlock_gateway.providers.calling import CallingProvider, described
from interlock_gateway.providers.kept import Described, ProviderKind

MAX_TOOLS = 256
"""How many tools an attached provider may have."""


class AttachedProvider(CallingProvider):
    """The gateway's side of an attachment. It is there as long as its stream is; another stream is another one."""

    kind = ProviderKind.ATTACHED
    address = ""

    def __init__(self, name: str, link: FrameLink) -> None:
        super().__init__(name, _Stub(link), _asking(link, "execute"))
        self.link = link

    @property
    def in_flight(self) -> int:
        """How many requests it has not answered."""
        return self.link.in_flight

    async def ready(self, deadline_s: float) -> None:
        """Return at once; raises `ProviderDownError` when it has gone."""
        del deadline_s
        if not self.link.open:
            raise ProviderDownError(f"provider {self.name} is not attached any more")

    async def described(self, told: rpc.DescribeResponse) -> Described:
        """What it says of itself. Raises `ProviderFailedError`."""
        return await described(told, self.name, MAX_TOOLS)

    async def describe(self, timeout_s: float) -> Described:
        """Ask what there is."""
        return await self.described(await self._unary(self._stub.Describe, rpc.DescribeRequest(), timeout_s))

    async def until_lost(self) -> bool:
        """Return when the stream has ended."""
        return not await self.link.closed.wait()

    async def pause(self, most_s: float) -> None:
        """Return at once: nobody waits for a stream to come back."""

    def mark_described(self) -> None:
        """Nothing changes: it was described before it was there."""

    def mark_lost(self) -> None:
        """Nothing changes: a stream that is lost does not come back."""

    def retire(self) -> None:
        """End the stream."""
        self.link.close()

    async def close(self) -> None:
        """End the stream; calls in flight end as unknown."""
        self.link.close()


class _Stub:
    """What generated stubs have, over frames."""

    def __init__(self, link: FrameLink) -> None:
        self._link = link
        self.Describe = _asking(link, "describe")
        self.DryRun = _asking(link, "dry_run")
        self.GenerateUndo = _asking(link, "generate_undo")
        self.ApplyPending = _asking(link, "apply_pending")
        self.RejectPending = _asking(link, "reject_pending")
        self.RenderCall = _asking(link, "render_call")
        self.RenderResult = _asking(link, "render_result")

    async def Execute(  # noqa: N802 - the word of generated stubs
        self,
        request: rpc.ExecuteRequest,
        *,
        timeout: float,  # noqa: ASYNC109 - the word of generated stubs
        on_message: Callable[[Any], None],
        trace: TraceContext | None = None,
    ) -> None:
        """Run a call; each event goes to `on_message`, the result last."""
        await self._link.ask("execute", request, timeout, trace, on_message)


def _asking(link: FrameLink, kind: str) -> Callable[..., Awaitable[Any]]:
    async def ask(request: Any, *, timeout: float, trace: TraceContext | None = None) -> Any:  # noqa: ASYNC109 - as above
        return await link.ask(kind, request, timeout, trace)

    return ask
