"""What a replay needs of a receipt, taken from the line's bytes; parsed as JSON only where they are unusual.

The input is handed to the engine as the very text that stands in the line. A line is written with its members in one
order (audit/receipt.py, audit/masking.py); one that does not look so is read as JSON, and means the same.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from interlock_gateway.audit.line import SEAL_BYTES

_TEXT = rb'"((?:[^"\\]|\\.)*)"'
_BEGINNING = re.compile(
    rb'\{"v":1,"sequence":(\d+),"previous":"[0-9a-f]{64}","kind":"(\w+)","decision_id":'
    + _TEXT
    + rb',"timestamp":"([^"]*)"'
)
_OF_THE_LOG = re.compile(rb'\{"v":1,"sequence":\d+,"previous":"[0-9a-f]{64}","kind":"(?!receipt"|intent")\w+"')
_REST = re.compile(
    rb',"path":"[^"]*","labels":\{[^{}]*\},"bundles":\{"interlock":\{"revision":"([^"\\]*)"\}\},"requested_by":'
    + _TEXT
    + rb',"principal":\{[^{}]*\},"session_id":"(?:[^"\\]|\\.)*","call_id":"(?:[^"\\]|\\.)*","call_kind":"\w*","tool":'
    + _TEXT
)
_RESOLUTION = b',"resolution":'
_ERASED = b',"erased":['
_INPUT = b',"input":'
_RESULT = b',"result":'
_METRICS = b',"metrics":{'
_INPUT_POINTER = "/input/"


class Beginning(NamedTuple):
    """How a line begins; `end` is where the rest does."""

    sequence: int
    kind: bytes
    decision_id: bytes
    timestamp: bytes
    end: int


class Recorded(NamedTuple):
    """A recorded decision. `result` and `policy_input` are JSON texts, the input empty when policy was not asked.

    `is_whole` says that the input is what policy saw: nothing in it is masked or left out.
    """

    sequence: int
    decision_id: str
    revision: str
    principal: str
    tool: str
    result: bytes
    policy_input: bytes
    is_whole: bool


def beginning(line: bytes) -> Beginning | None:
    """How a line of the log begins; `None` for what does not look like a receipt or an intent."""
    found = _BEGINNING.match(line)
    if found is None:
        return None
    return Beginning(int(found[1]), found[2], found[3], found[4], found.end())


def of_the_log_itself(line: bytes) -> bool:
    """Whether a line tells of the log, such as where a segment begins and ends, and of no call."""
    return _OF_THE_LOG.match(line) is not None


def recorded(line: bytes) -> Recorded | None:
    """The decision in a line, read from its bytes; `None` when they are unusual: `parsed` reads any."""
    begun = _BEGINNING.match(line)
    rest = _REST.match(line, begun.end()) if begun is not None else None
    if begun is None or rest is None:
        return None
    end = len(line) - SEAL_BYTES
    result = line.find(_RESULT, rest.end())
    metrics = line.find(_METRICS, result)
    given = line.find(_INPUT, metrics)
    if result < 0 or metrics < 0 or (given >= 0 and line[end - 1 : end] != b"}"):
        return None
    before_input = line[metrics:given]
    if _RESOLUTION in before_input:  # who resolves may say anything there, also what an input begins with
        return None
    revision, principal, tool = rest.groups()
    return Recorded(
        int(begun[1]),
        begun[3].decode(),
        revision.decode(),
        _text(principal),
        _text(tool),
        line[result + len(_RESULT) : metrics],
        line[given + len(_INPUT) : end] if given >= 0 else b"",
        given < 0 or _ERASED not in before_input,
    )


def parsed(line: bytes) -> Recorded | None:
    """The same, read as JSON; `None` for a line that is no recorded decision."""
    try:
        record = json.loads(line[: len(line) - SEAL_BYTES] + b"}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("result"), dict):
        return None
    given = record.get("input")
    return Recorded(
        sequence=int(record.get("sequence", 0)),
        decision_id=str(record.get("decision_id", "")),
        revision=_revision(record),
        principal=str(record.get("requested_by", "")),
        tool=str(record.get("tool", "")),
        result=_encoded(record["result"]),
        policy_input=_encoded(given) if isinstance(given, dict) else b"",
        is_whole=not any(_is_in_input(record.get(name)) for name in ("masked", "erased")),
    )


def _revision(record: Mapping[str, Any]) -> str:
    found = record.get("bundles", {}).get("interlock", {})
    return str(found.get("revision", "")) if isinstance(found, dict) else ""


def _is_in_input(pointers: Any) -> bool:
    return any(str(one).startswith(_INPUT_POINTER) for one in pointers) if isinstance(pointers, list) else False


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _text(raw: bytes) -> str:
    return raw.decode() if b"\\" not in raw else str(json.loads(b'"%s"' % raw))
