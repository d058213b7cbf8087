"""The session report: what one session did, refused, previewed and could undo (contract.md, AdminService)."""

from collections import Counter
from dataclasses import dataclass

from interlock_gateway.core.checkpoint import CheckpointState
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.core.rollback import only_read, undo_of
from interlock_gateway.core.session import Session
from interlock_gateway.core.sessionfacts import SessionFacts, together
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateStore
from interlock_gateway.sessions.book import SessionBook

_PAGE = 500
_STANDING = (OperationState.DONE, OperationState.UNDO_FAILED)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session, its counts, and how its operations stand."""

    session: Session
    facts: SessionFacts
    pending: int
    operations: Counter[OperationState]
    undoable: int
    irreversible: int
    only_read: int
    open_checkpoints: int


async def summarize(store: StateStore, book: SessionBook, session_id: str, now: float) -> SessionSummary:
    """The report of one session. Raises `RequestError` when there is none of that id."""
    session = await store.sessions.get_session(session_id)
    if session is None:
        raise RequestError(RequestFault.SESSION_NOT_FOUND, f"there is no session {session_id}", field="session_id")
    live = book.in_memory(session_id)
    facts = live.whole if live is not None else await _kept_facts(store, session_id)
    states: Counter[OperationState] = Counter()
    undoable = irreversible = reading = after = 0
    while page := await store.journal.list_operations(session_id, _PAGE, after):
        for operation in page:
            if operation.undoes:  # it is counted with what it undid
                continue
            states[operation.state] += 1
            undoable += _undoable(operation)
            reading += only_read(operation)
            irreversible += operation.state in _STANDING and not (_undoable(operation) or only_read(operation))
        after = page[-1].sequence
    pending = await store.pending.count_pending(session_id, now)
    asked = await store.checkpoints.list_checkpoints((CheckpointState.OPEN,), _PAGE, session_id=session_id)
    return SessionSummary(session, facts, pending, states, undoable, irreversible, reading, len(asked))


async def _kept_facts(store: StateStore, session_id: str) -> SessionFacts:
    kept = await store.sessions.load_session_facts(session_id)
    documents = [*kept.others, kept.own] if kept.own is not None else kept.others
    return together(map(SessionFacts.from_json, documents))


def _undoable(operation: Operation) -> bool:
    return operation.state in _STANDING and undo_of(operation) is not None
