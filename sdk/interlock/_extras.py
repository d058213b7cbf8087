"""Parts of the SDK that need more than it depends on say what to install."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports of what the extra `name` brings: raises ModuleNotFoundError with the way to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        words = f"{error.msg}; it comes with pip install 'interlock-sdk[{name}]'"
        raise ModuleNotFoundError(words, name=error.name) from None
