"""What listed sessions did, over all replicas: read for a whole page at once (contract.md, AdminService)."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock_gateway.core.session import Session
from interlock_gateway.core.sessionfacts import SessionFacts, together
from interlock_gateway.pipeline.ports import SessionDocuments, StateStore
from interlock_gateway.sessions.book import SessionBook


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """What one session did, and how many of its actions are pending."""

    facts: SessionFacts
    pending: int


async def counts_of(
    store: StateStore, book: SessionBook, page: Sequence[Session], now: float
) -> dict[str, SessionCounts]:
    """What each session of a page of `SessionStore.list_sessions` did, by its id. Raises `StateError`.

    What other replicas saw in the last second or so may be missing: it is written behind the calls.
    """
    documents = await store.sessions.facts_of(page)
    pending = await store.pending.count_pending_of(page, now)
    return {
        session_id: SessionCounts(_facts(book, session_id, kept), pending.get(session_id, 0))
        for session_id, kept in documents.items()
    }


def _facts(book: SessionBook, session_id: str, kept: SessionDocuments) -> SessionFacts:
    parts = [SessionFacts.from_json(other) for other in kept.others]
    if (live := book.in_memory(session_id)) is not None:
        parts.append(live.facts)
    elif kept.own is not None:
        parts.append(SessionFacts.from_json(kept.own))
    return together(parts)
