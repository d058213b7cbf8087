"""A watch lasts as long as the credentials that it was begun with (AUTH-1): nobody looks on with a token that ended."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

from interlock_gateway.approvals.watches import WatchEvent
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault


async def while_known(
    events: AsyncIterator[WatchEvent], approver: Principal, clock: Clock
) -> AsyncIterator[WatchEvent]:
    """`events`, until the credentials of `approver` end. Then it raises `RequestError` (`unauthenticated`)."""
    async with aclosing(cast("AsyncGenerator[WatchEvent, None]", events)) as watched:
        while True:
            left_s = _left_s(approver, clock)
            try:
                async with asyncio.timeout(left_s):
                    event = await anext(watched)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise _ended() from None
            yield event


def _left_s(approver: Principal, clock: Clock) -> float | None:
    if approver.expires_at is None:
        return None
    left_s = approver.expires_at - clock.now()
    if left_s <= 0:
        raise _ended()
    return left_s


def _ended() -> RequestError:
    return RequestError(RequestFault.UNAUTHENTICATED, "the credentials have ended; watch again with new ones")
