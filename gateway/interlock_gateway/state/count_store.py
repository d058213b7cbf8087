"""What principals called lately, a document for each replica that counted."""

from collections.abc import Mapping
from functools import partial

from sqlalchemy import bindparam, delete, select

from interlock_gateway.pipeline.ports import SessionDocuments
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import principal_calls
from interlock_gateway.state.transaction import Link, Statement

_SAVE = Statement(
    lambda insert: (
        insert(principal_calls)
        .values(
            principal_id=bindparam("principal"),
            replica_id=bindparam("replica"),
            updated_at=bindparam("now"),
            document=bindparam("document"),
        )
        .on_conflict_do_update(
            index_elements=["principal_id", "replica_id"],
            set_={"document": bindparam("document"), "updated_at": bindparam("now")},
        )
    )
)
_LOAD = Statement(
    select(principal_calls.c.replica_id, principal_calls.c.document).where(
        principal_calls.c.principal_id == bindparam("principal")
    )
)
_FORGET = Statement(delete(principal_calls).where(principal_calls.c.updated_at < bindparam("before")))


class StoredCounts:
    """`CountStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id

    async def save_counts(self, counts: Mapping[str, bytes], now: float) -> None:
        """Keep one JSON document for each principal, in place of what this replica kept of them earlier."""
        await self._writer.submit(partial(_save, counts=dict(counts), replica_id=self._replica_id, now=now))

    async def load_counts(self, principal_id: str) -> SessionDocuments:
        """The documents that this replica and others kept last."""
        return await self._reader.submit(partial(_load, principal_id=principal_id, replica_id=self._replica_id))

    async def forget_counts(self, before: float) -> None:
        """Drop every document that was kept before then, whichever replica's."""
        await self._writer.submit(lambda link: link.change(_FORGET, before=before))


def _save(link: Link, counts: Mapping[str, bytes], replica_id: str, now: float) -> None:
    # In one order, so that two replicas never wait for each other's rows.
    for principal_id in sorted(counts):
        link.change(_SAVE, principal=principal_id, replica=replica_id, now=now, document=counts[principal_id])


def _load(link: Link, principal_id: str, replica_id: str) -> SessionDocuments:
    rows: dict[str, bytes] = dict(link.rows(_LOAD, principal=principal_id))
    own = rows.pop(replica_id, None)
    return SessionDocuments(own, tuple(rows.values()))
