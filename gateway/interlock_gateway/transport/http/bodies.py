"""A request's body, bounded in size and time."""

import asyncio

from starlette.requests import Request

from interlock_gateway.errors import RequestError, RequestFault


async def body_of(request: Request, limit: int, patience_s: float) -> bytes:
    """All of it. Raises `RequestError` beyond `limit` bytes or `patience_s` seconds, `ClientDisconnect`."""
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(patience_s):
            async for piece in request.stream():
                size += len(piece)
                if size > limit:
                    raise RequestError(RequestFault.TOO_LARGE, f"at most {limit} bytes are accepted")
                pieces.append(piece)
    except TimeoutError:
        raise RequestError(RequestFault.DEADLINE, "the request did not arrive in time") from None
    return b"".join(pieces)
