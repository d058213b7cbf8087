"""Enters artifacts that are in the store and not in the database: of an earlier version, or from before a restore."""

import logging
from collections.abc import AsyncIterator

from interlock_gateway.artifacts.backend import ObjectBackend, StoredObject
from interlock_gateway.artifacts.content import described
from interlock_gateway.artifacts.errors import ArtifactError, ArtifactNotFoundError
from interlock_gateway.artifacts.index import ArtifactIndex, Entry

_AT_ONCE = 100
_SUFFIX = ".json"
_log = logging.getLogger(__name__)


async def adopt_strangers(index: ArtifactIndex, backend: ObjectBackend) -> int:
    """Enter every whole artifact that is not entered and whose session is known here; how many.

    What belongs to no session of this database is left alone: it may be another gateway's. Raises `StateError` and
    `ArtifactStoreError`.
    """
    adopted = 0
    async for items in _descriptions(backend):
        strangers = await index.unknown([name.removesuffix(_SUFFIX) for name in items])
        entries = [await _entry(backend, items[f"{name}{_SUFFIX}"]) for name in sorted(strangers)]
        adopted += await index.adopt([entry for entry in entries if entry is not None])
    if adopted:
        _log.info("artifacts were found in the store that were not entered", extra={"adopted": adopted})
    return adopted


async def _descriptions(backend: ObjectBackend) -> AsyncIterator[dict[str, StoredObject]]:
    found: dict[str, StoredObject] = {}
    async for item in backend.listing():
        if item.name.endswith(_SUFFIX):
            found[item.name] = item
        if len(found) == _AT_ONCE:
            yield found
            found = {}
    if found:
        yield found


async def _entry(backend: ObjectBackend, item: StoredObject) -> Entry | None:
    name = item.name.removesuffix(_SUFFIX)
    try:
        key, found = described(await backend.read(item.name))
    except ArtifactNotFoundError:
        return None
    except ArtifactError as error:
        _log.warning("an artifact in the store is damaged", extra={"artifact": name, "problem": error.message})
        return None
    if key.content_name != name:
        return None
    return Entry(name, key.session_id, found.artifact.total_bytes, item.modified_at)
