"""Redaction of a whole outcome: every text, every structured value, every field that policy names (RES-6)."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import re2

from interlock_gateway.artifacts.content import is_text
from interlock_gateway.core.content import Content, Resource, Text
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.pointers import InvalidPointerError, Masking, mask, parse_pointer
from interlock_gateway.results.encoding import encode_json, is_large
from interlock_gateway.results.redaction import POLICY, Redactor
from interlock_gateway.results.redaction import mark as marked
from interlock_gateway.results.textjson import parse_container

UNREADABLE = "unreadable"
LARGE_BYTES = 64 * 1024
_SHORTEST_SCALAR = 4
_MOST_SCALARS = 500


@dataclass(slots=True)
class Cleaned:
    """An outcome without its secrets, the JSON text of its data, and what was redacted by kind."""

    outcome: ToolOutcome
    data_json: bytes
    counts: Mapping[str, int]


def is_heavy(outcome: ToolOutcome) -> bool:
    """Whether cleaning takes long enough to belong in a thread."""
    size = sum(_size(part) for part in outcome.content)
    return (
        size > LARGE_BYTES
        or is_large(outcome.data)
        or (outcome.details is not None and is_large(dict(outcome.details)))
    )


def clean(outcome: ToolOutcome, redactor: Redactor, pointers: tuple[str, ...]) -> Cleaned:
    """Redact everything in `outcome` that can be shown; `pointers` are the fields that policy wants masked in data.

    A pointer that is not one masks everything: policy wanted something hidden, and nobody knows what.
    """
    work = _Cleaning(redactor, _tokens(pointers))
    data, encoded = work.data(outcome.data) if outcome.has_data else (None, b"")
    content = tuple(work.part(part) for part in outcome.content)
    return Cleaned(
        outcome=replace(
            outcome,
            content=content,
            data=data,
            details=work.mapping(outcome.details),
            undo=work.undo(outcome.undo),
        ),
        data_json=encoded,
        counts=dict(work.counts),
    )


def _tokens(pointers: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    try:
        return tuple(parse_pointer(pointer) for pointer in pointers)
    except InvalidPointerError:
        return ((),)


def _size(part: Content) -> int:
    if isinstance(part, Text):
        return len(part.text)
    return len(part.text or "") + len(part.blob or b"") if isinstance(part, Resource) else 0


def _sound(text: str) -> str:
    """The text with question marks for lone surrogates, which are not characters and cannot be sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


@dataclass(slots=True)
class _Cleaning:
    redactor: Redactor
    pointers: tuple[tuple[str, ...], ...]
    counts: Counter[str] = field(default_factory=Counter)
    hidden: Masking = field(default_factory=Masking)

    def text(self, text: str) -> str:
        redacted = self.redactor.redact_text(text)
        if redacted.counts:
            self.counts.update(redacted.counts)
        return redacted.text

    def value(self, value: JsonValue) -> tuple[JsonValue, bytes]:
        encoded = encode_json(value)
        if not self.redactor.may_hold_secret(encoded):
            return value, encoded
        redacted = self.redactor.redact_value(value)
        if not redacted.counts:
            return value, encoded
        self.counts.update(redacted.counts)
        return redacted.value, encode_json(redacted.value)

    def data(self, data: JsonValue) -> tuple[JsonValue, bytes]:
        if self.pointers:
            data, self.hidden = mask(data, self.pointers, marked(POLICY))
            self.counts[POLICY] += self.hidden.count
        return self.value(data)

    def mapping(self, details: FrozenJsonObject | None) -> FrozenJsonObject | None:
        if not details:
            return details
        value, _ = self.value(self._beside(dict(details)))
        return value if isinstance(value, dict) else None

    def _beside(self, value: JsonValue) -> JsonValue:
        """What stands beside the data, where a provider may repeat what policy hides."""
        if not self.pointers:
            return value
        value, masking = mask(value, self.pointers, marked(POLICY))
        self.counts[POLICY] += masking.count
        return self._leaves(value)

    def _leaves(self, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {self._scalars_hidden(name): self._leaves(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._leaves(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        text = str(value)
        shown = self._scalars_hidden(text)
        return value if shown is text else shown

    def undo(self, undo: UndoInfo | None) -> UndoInfo | None:
        if undo is None:
            return None
        shown = self.mapping(undo.input) or {}
        return replace(
            undo, input=shown, description=self._words(undo.description), manual_guide=self._words(undo.manual_guide)
        )

    def part(self, part: Content) -> Content:
        annotations, meta = self.raw(part.annotations), self.raw(part.meta)
        if annotations is not part.annotations or meta is not part.meta:
            part = replace(part, annotations=annotations, meta=meta)
        if isinstance(part, Text):
            text = self._shown(part.text)
            return part if text is part.text else replace(part, text=text)
        return self._resource(part) if isinstance(part, Resource) else part

    def raw(self, encoded: bytes) -> bytes:
        """JSON text that passes through untouched, unless it holds a secret; dropped when it is not JSON after all."""
        if not encoded or not (self.pointers or self.redactor.may_hold_secret_in_json(encoded)):
            return encoded
        try:
            value: JsonValue = json.loads(encoded)
        except (ValueError, RecursionError):
            self.counts[UNREADABLE] += 1
            return b""
        beside = self._beside(value)
        redacted = self.redactor.redact_value(beside)
        if beside == value and not redacted.counts:
            return encoded
        self.counts.update(redacted.counts)
        return encode_json(redacted.value) if isinstance(redacted.value, dict) else b""

    def _resource(self, part: Resource) -> Resource:
        return replace(
            part,
            uri=self._words(part.uri),
            name=self._words(part.name),
            title=self._words(part.title),
            description=self._words(part.description),
            text=None if part.text is None else self._shown(part.text),
            blob=self._blob(part.blob, part.media_type),
            extra=self.raw(part.extra),
        )

    def _blob(self, blob: bytes | None, media_type: str) -> bytes | None:
        if not blob or not is_text(media_type):
            return blob
        text = blob.decode("utf-8", "replace")
        shown = self._shown(text)
        return blob if shown is text else shown.encode()

    def _shown(self, text: str) -> str:
        if not text.isascii():
            text = _sound(text)
        if self.pointers:
            text = self._hidden_in_text(text)
        return self.text(text)

    def _words(self, text: str) -> str:
        return self.text(self._scalars_hidden(text))

    def _hidden_in_text(self, text: str) -> str:
        """Text often repeats the data; what policy hides there must not be read here."""
        document = parse_container(text)
        if document is not None:
            value, masking = mask(document, self.pointers, marked(POLICY))
            if masking.count:
                self.counts[POLICY] += masking.count
                return encode_json(value).decode()
        return self._scalars_hidden(text)

    def _scalars_hidden(self, text: str) -> str:
        scalars = [scalar for scalar in self.hidden.scalars if len(scalar) >= _SHORTEST_SCALAR]
        if not scalars:
            return text
        if len(scalars) > _MOST_SCALARS:
            self.counts[POLICY] += 1
            return marked(POLICY)
        # Longest first, so that a value is not masked by halves where another is its beginning.
        options = "|".join(re2.escape(scalar) for scalar in sorted(scalars, key=len, reverse=True))
        shown, count = re2.compile(options).subn(marked(POLICY), text)
        self.counts[POLICY] += count
        return str(shown) if count else text
