"""Who watches at which replica (CHK-2). A few rows, and only where several replicas share the database."""

import json

from sqlalchemy import bindparam, delete, select

from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import approver_watches, replicas
from interlock_gateway.state.transaction import Link, Statement

_BEGIN = Statement(
    lambda insert: (
        insert(approver_watches)
        .values(
            watch_id=bindparam("watch"),
            replica_id=bindparam("replica"),
            approver=bindparam("approver"),
            groups=bindparam("groups_json"),
        )
        .on_conflict_do_nothing()
    )
)
_END = Statement(delete(approver_watches).where(approver_watches.c.watch_id == bindparam("watch")))
_FORGET = Statement(delete(approver_watches).where(approver_watches.c.replica_id == bindparam("replica")))
# A replica that is dead has no row among the replicas.
_ELSEWHERE = Statement(
    select(approver_watches.c.approver, approver_watches.c.groups)
    .join(replicas, replicas.c.replica_id == approver_watches.c.replica_id)
    .where(approver_watches.c.replica_id != bindparam("replica"))
)


class StoredWatches:
    """`WatchStore` on a database, for one replica."""

    def __init__(self, reader: Lane, writer: Lane, replica_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._replica_id = replica_id

    async def begin_watch(self, watch_id: str, approver: str, groups: tuple[str, ...]) -> None:
        """Say that there is a watch at this replica."""
        values = {"watch": watch_id, "replica": self._replica_id, "approver": approver}
        groups_json = json.dumps(groups).encode()
        await self._writer.submit(lambda link: link.change(_BEGIN, **values, groups_json=groups_json))

    async def end_watch(self, watch_id: str) -> None:
        """It has it no more; without one, nothing happens."""
        await self._writer.submit(lambda link: link.change(_END, watch=watch_id))

    async def forget_own_watches(self) -> None:
        """At start: what a process before this one left."""
        await self._writer.submit(lambda link: link.change(_FORGET, replica=self._replica_id))

    async def watches_elsewhere(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each watch of another replica that lives: its approver, and their groups."""

        def work(link: Link) -> tuple[tuple[str, tuple[str, ...]], ...]:
            rows = link.rows(_ELSEWHERE, replica=self._replica_id)
            return tuple((approver, tuple(json.loads(bytes(groups)))) for approver, groups in rows)

        return await self._reader.submit(work)
