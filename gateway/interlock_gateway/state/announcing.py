"""Changes as the payloads of notifications, and back (STATE-1)."""

import json
from collections.abc import Iterator, Sequence

from interlock_gateway.core.change import EVERYTHING, Change, Topic

CHANNEL = "interlock_changes"
# PostgreSQL takes payloads of less than 8,000 bytes.
MAX_PAYLOAD = 7_900
_TOPICS = frozenset(topic.value for topic in Topic)


def payloads_of(origin: str, changes: Sequence[Change]) -> Iterator[str]:
    """`changes`, each told once, in as few payloads as they fit into; `origin` lets its sender know them again."""
    head = f'{{"from":{json.dumps(origin)},"changes":['
    room = MAX_PAYLOAD - len(head) - 2
    parts: list[str] = []
    used = 0
    for part in map(_encoded, dict.fromkeys(changes)):
        if used + len(part) + 1 > room and parts:
            yield f"{head}{','.join(parts)}]}}"
            parts, used = [], 0
        # One that fits into no payload is told as what includes it.
        fitting = part if len(part) <= room else _encoded(EVERYTHING)
        parts.append(fitting)
        used += len(fitting) + 1
    if parts:
        yield f"{head}{','.join(parts)}]}}"


def changes_in(payload: str, *, told_by: str) -> tuple[Change, ...]:
    """The changes in `payload`; none when `told_by` sent it itself, `EVERYTHING` when it cannot be read.

    A newer version of the gateway may tell of topics that this one does not know; they are nobody's business here.
    """
    try:
        document = json.loads(payload)
        if document["from"] == told_by:
            return ()
        known = [parts for parts in document["changes"] if parts[0] in _TOPICS]
        return tuple(Change(Topic(topic), session_id, key) for topic, session_id, key in known)
    except (ValueError, KeyError, TypeError, IndexError):
        return (EVERYTHING,)


def _encoded(change: Change) -> str:
    return json.dumps([change.topic.value, change.session_id, change.key], separators=(",", ":"))
