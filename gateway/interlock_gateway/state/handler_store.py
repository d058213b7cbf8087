"""The standing handler of each session (PREV-12)."""

from sqlalchemy import bindparam, delete, select

from interlock_gateway.core.outcome import StandingHandler
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.pending_store import sequence_if_open
from interlock_gateway.state.record_codec import RecordCodec
from interlock_gateway.state.schema import standing_handlers
from interlock_gateway.state.transaction import Link, Statement

_DOCUMENT = RecordCodec(StandingHandler)

_SET = Statement(
    lambda insert: (
        insert(standing_handlers)
        .values(session_id=bindparam("session"), document=bindparam("document"))
        .on_conflict_do_update(index_elements=["session_id"], set_={"document": bindparam("document")})
    )
)
_GET = Statement(select(standing_handlers.c.document).where(standing_handlers.c.session_id == bindparam("session")))
_CLEAR = Statement(delete(standing_handlers).where(standing_handlers.c.session_id == bindparam("session")))


class StandingHandlers:
    """`HandlerStore` on a database."""

    def __init__(self, reader: Lane, writer: Lane) -> None:
        self._reader = reader
        self._writer = writer

    async def set_handler(self, session_id: str, handler: StandingHandler) -> None:
        """Keep `handler` in place of the session's earlier one. Raises `SessionEndedError`."""
        document = _DOCUMENT.encode(handler)

        def work(link: Link) -> None:
            sequence_if_open(link, session_id)
            link.change(_SET, session=session_id, document=document)

        await self._writer.submit(work)

    async def get_handler(self, session_id: str) -> StandingHandler | None:
        """The session's handler."""

        def work(link: Link) -> StandingHandler | None:
            row = link.row(_GET, session=session_id)
            return None if row is None else _DOCUMENT.decode(row[0])

        return await self._reader.submit(work)

    async def clear_handler(self, session_id: str) -> None:
        """Forget it; without one, nothing happens."""
        await self._writer.submit(lambda link: link.change(_CLEAR, session=session_id))
