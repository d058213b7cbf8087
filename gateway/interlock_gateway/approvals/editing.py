"""An approver's edit of a call's input: checked, its masked secrets put back, its difference shown (CHK-7)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff

from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.read_input import read_input

MASK_BEGINS = "[redacted:"
MOST_LINES = 1000
"""A difference between longer texts is not made line by line: that takes time with the square of their length."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The input that is to run, and how it differs from the one asked for, without secrets."""

    input: bytes
    difference: str


@dataclass(frozen=True, slots=True)
class Editor:
    """Takes edits in. `mask` gives a JSON value without its secrets; sizes are bytes."""

    max_bytes: int
    max_depth: int
    mask: Callable[[JsonValue], JsonValue]

    def edit(self, checkpoint: Checkpoint, raw: bytes) -> Edit:
        """What an edited input comes to.

        The approver was shown marks in the place of secrets; where such a place was left as it was, the secret is put
        back. Raises `RequestError` for what is no strict JSON object, holds a mark anywhere else, or changes nothing.
        """
        try:
            document = read_input(raw, max_bytes=self.max_bytes, max_depth=self.max_depth)
        except InvalidDocumentError as error:
            raise _wrong(error.message) from None
        asked = parse(checkpoint.input or b"{}", max_depth=self.max_depth).value
        seen = parse(checkpoint.shown_input or b"{}", max_depth=self.max_depth).value
        if _same(document.value, seen) or _same(document.value, asked):
            raise _wrong("it is what was asked for: approve that, or change something")
        # What policy strips (CONF-5) is not shown, and stands in front of policy again.
        stripped = {name: item for name, item in asked.items() if name not in seen and name not in document.value}
        whole = {**stripped, **_restored_members(document.value, seen, asked)}
        if _holds_mark(whole) and not _holds_mark(asked):
            raise _wrong(
                f"it holds {MASK_BEGINS}...], which stands for a secret that you were not shown: leave its place as it "
                "was, or put a value there"
            )
        untouched = _same(whole, document.value)
        sent = raw if untouched else json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
        return Edit(sent, difference(seen, self.mask({name: whole[name] for name in document.value})))


def difference(before: JsonValue, after: JsonValue) -> str:
    """A unified diff of two JSON values written out line by line; for long ones, which members differ."""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) <= MOST_LINES:
        return "\n".join(unified_diff(old, new, "asked", "edited", lineterm=""))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return "too long to be compared line by line"
    names = sorted(before.keys() | after.keys())
    changed = [
        name for name in names if not _same(before.get(name), after.get(name)) or (name in before) != (name in after)
    ]
    return "too long to be compared line by line; these members differ:\n" + "\n".join(changed)


def _lines(value: JsonValue) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True).splitlines()


def _restored(edited: JsonValue, seen: JsonValue, asked: JsonValue) -> JsonValue:
    """`edited`, with what was asked wherever the approver left what was shown."""
    if _same(edited, seen):
        return asked
    if isinstance(edited, dict) and isinstance(seen, dict) and isinstance(asked, dict):
        return _restored_members(edited, seen, asked)
    if isinstance(edited, list) and isinstance(seen, list) and isinstance(asked, list):
        return _restored_items(edited, seen, asked)
    return edited


def _restored_items(edited: list[JsonValue], seen: list[JsonValue], asked: list[JsonValue]) -> list[JsonValue]:
    # In a list that has become longer or shorter nobody can say which item was which.
    if not len(edited) == len(seen) == len(asked):
        return edited
    return [_restored(*three) for three in zip(edited, seen, asked, strict=True)]


def _restored_members(edited: JsonObject, seen: JsonObject, asked: JsonObject) -> JsonObject:
    return {
        name: _restored(item, seen[name], asked[name]) if name in seen and name in asked else item
        for name, item in edited.items()
    }


def _holds_mark(value: JsonValue) -> bool:
    if isinstance(value, str):
        return MASK_BEGINS in value
    if isinstance(value, dict):
        return any(MASK_BEGINS in name or _holds_mark(item) for name, item in value.items())
    return isinstance(value, list) and any(map(_holds_mark, value))


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are the same JSON; `1`, `1.0` and `true` are three, which Python calls equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(item, other[name]) for name, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _wrong(message: str) -> RequestError:
    return RequestError(RequestFault.INVALID_FIELD, f"edited_input: {message}", field="edited_input")
