"""Changes of the durable state, as they are told to whoever waits for one (STATE-1)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    """What kind of record has changed."""

    SESSION = "session"
    FACTS = "facts"
    CALL = "call"
    OPERATION = "operation"
    PENDING = "pending"
    CHECKPOINT = "checkpoint"
    WHO_HOLDS = "who_holds"
    """No change: a replica asks who holds this call open."""
    HELD = "held"
    """The answer: it is held open elsewhere."""
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Change:
    """A record has changed, here or in another replica. It says which, never how: read it again.

    `key` is the record's own id (`checkpoint_id`, `call_id`, and the session's for `pending` and `facts`), `session_id`
    the session it belongs to. With `EVERYTHING` both are empty: changes may have been missed.
    """

    topic: Topic
    session_id: str = ""
    key: str = ""


Listener = Callable[[Change], None]
EVERYTHING = Change(Topic.EVERYTHING)
