"""Pages of a list that is in memory."""

from collections.abc import Sequence
from typing import TypeVar

from interlock_gateway.errors import RequestError, RequestFault

DEFAULT_PAGE = 50
MAX_PAGE = 500
MAX_DIGITS = 18
T = TypeVar("T")


def page_of(items: Sequence[T], size: int, token: str) -> tuple[Sequence[T], str]:
    """The page of at most `size` (50 by default, 500 at most) at `token`, and the token of the next, empty at the end.

    Raises `RequestError` for a token that is not one of ours.
    """
    if token and not (token.isascii() and token.isdigit() and len(token) <= MAX_DIGITS):
        raise RequestError(RequestFault.INVALID_PAGE_TOKEN, "page_token is not one of ours", field="page_token")
    start = int(token) if token else 0
    end = start + min(size or DEFAULT_PAGE, MAX_PAGE)
    return items[start:end], str(end) if end < len(items) else ""
