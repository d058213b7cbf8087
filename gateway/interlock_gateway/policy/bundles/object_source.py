"""A bundle from an object store: S3, GCS or Azure, by the credentials of the environment."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError, NotModifiedError
from obstore.store import ObjectStore, from_url

from interlock_gateway.artifacts.refusals import refusal_of
from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.sources import Fetched, shown, too_large

if TYPE_CHECKING:
    from obstore.store import RetryConfig

FETCH_S = 30.0
# Asked again at the next look anyway; trying for as long as obstore would, nobody would learn what is wrong.
_RETRY: "RetryConfig" = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=FETCH_S),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
}


def open_object_source(config: BundleConfig) -> "ObjectSource":
    """The object that an address names. Raises `BundleError` for an address that is none."""
    container, _, name = config.url.rpartition("/")
    try:
        return ObjectSource(from_url(container, retry_config=_RETRY), name, config.max_bytes, shown(config.url))
    except (BaseError, ValueError) as error:
        raise BundleError(BundleFault.UNREACHABLE, f"is no address of an object: {error}", shown(config.url)) from error


class ObjectSource:
    """One object of a store; a store replaces objects as a whole."""

    settles = False

    def __init__(self, store: ObjectStore, name: str, max_bytes: int, place: str) -> None:
        self._store = store
        self._name = name
        self._max_bytes = max_bytes
        self._place = place

    async def fetch(self, known: str) -> Fetched | None:
        """Ask for the object; `known` is the entity tag of the one that is there."""
        try:
            async with asyncio.timeout(FETCH_S):
                return await self._asked(known)
        except NotModifiedError:
            return None
        except TimeoutError as error:
            raise BundleError(BundleFault.UNREACHABLE, f"took more than {FETCH_S:.0f} s", self._place) from error
        except (BaseError, OSError, ValueError) as error:
            raise BundleError(BundleFault.UNREACHABLE, f"cannot be had: {_reason(error)}", self._place) from error

    async def close(self) -> None:
        """The store keeps nothing that has to be closed."""

    async def _asked(self, known: str) -> Fetched | None:
        found = await self._store.get_async(self._name, options={"if_none_match": known} if known else None)
        raw = bytearray()
        async for piece in found.stream():
            raw += bytes(piece)
            if len(raw) > self._max_bytes:
                raise too_large(self._max_bytes, self._place)
        return Fetched(bytes(raw), found.meta["e_tag"] or "")


def _reason(error: Exception) -> str:
    missing = "it is not there" if isinstance(error, FileNotFoundError) else ""
    return missing or refusal_of(error) or type(error).__name__
