"""From a record to the JSON text that is written: secrets masked, whatever the caller passed (AUD-1, SEC-4)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from interlock_gateway.audit.line import MAX_LINE_BYTES
from interlock_gateway.core.jsonvalue import JsonValue

# What a line has besides the record's members: its place in the chain, hash and signature.
_ROOM = 1024
# Members that the log itself writes, in every line.
RESERVED = frozenset({"v", "sequence", "previous", "hash", "signature"})


@dataclass(frozen=True, slots=True)
class RawJson:
    """A value that is JSON text already, valid UTF-8; it is written as it stands, unless something in it is masked."""

    text: bytes


AuditRecord: TypeAlias = "Mapping[str, JsonValue | RawJson]"


class Masked(Protocol):
    """A value without its secrets, and where they were as JSON pointers."""

    @property
    def value(self) -> JsonValue: ...  # noqa: D102 - said above
    @property
    def pointers(self) -> tuple[str, ...]: ...  # noqa: D102 - said above


class SecretFinder(Protocol):
    """What masking needs of `results.redaction.Redactor`."""

    def may_hold_secret_in_json(self, encoded: bytes) -> bool:
        """Whether JSON text needs a second look."""
        ...

    def redact_value(self, value: JsonValue) -> Masked:
        """The value without its secrets."""
        ...


class UnwritableRecordError(Exception):
    """The record cannot be written as JSON: a programming error, reported in the log in the record's place."""


def encode_members(record: AuditRecord, finder: SecretFinder) -> bytes:
    """The record's members as JSON text without the braces; what was masked is listed under `masked`.

    Raises `UnwritableRecordError` for a value that is not JSON, a reserved name, an empty record, or one too large.
    """
    if not record or not RESERVED.isdisjoint(record):
        raise UnwritableRecordError("a record has at least one member, and none that the log writes itself")
    text = _joined(record)
    if len(text) > MAX_LINE_BYTES - _ROOM:
        raise UnwritableRecordError("the record is too large")
    if finder.may_hold_secret_in_json(text):
        text = _masked(text, finder)
    return text


def _masked(text: bytes, finder: SecretFinder) -> bytes:
    try:
        found = finder.redact_value(json.loads(b"{%s}" % text))
    except (ValueError, RecursionError) as error:
        raise UnwritableRecordError(str(error)) from error
    if not found.pointers:
        return text
    assert isinstance(found.value, dict)
    before = found.value.get("masked", [])
    assert isinstance(before, list)
    return _encoded({**found.value, "masked": [*before, *found.pointers]})[1:-1]


def _joined(record: AuditRecord) -> bytes:
    plain: dict[str, JsonValue] = {}
    parts = [b""]
    for name, value in record.items():
        if isinstance(value, RawJson):
            # A line has no line breaks; in valid JSON they are white space.
            text = value.text.replace(b"\n", b" ").replace(b"\r", b" ")
            parts.append(b"%s:%s" % (_encode(name).encode(), text))
        else:
            plain[name] = value
    parts[0] = _encoded(plain)[1:-1]
    return b",".join(parts if plain else parts[1:])


def _plain(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain).encode


def _encoded(record: Mapping[str, object]) -> bytes:
    try:
        # A lone surrogate is not a character; it is written as a question mark.
        return _encode(record).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        raise UnwritableRecordError(str(error)) from error
