"""Pins: what each tool's definition was when it was last accepted, and by whom (TOOL-3, TOOL-5)."""

import json
from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.tool import PinState, ToolDefinition
from interlock_gateway.registry.fingerprint import Difference, definition_document, differences, fingerprint

FIRST_USE = "first use"
FOLLOWED = "followed"
_NOBODY = frozenset({FIRST_USE, FOLLOWED})


@dataclass(frozen=True, slots=True)
class Pin:
    """An accepted definition: its hash, its JSON, when and by whom. Times are Unix seconds."""

    provider: str
    tool: str
    sha256: str
    definition_json: str
    pinned_at: float
    approved_by: str

    @property
    def by_a_person(self) -> bool:
        """Whether an operator accepted it, and it was not pinned by itself."""
        return self.approved_by not in _NOBODY


class PinStore(Protocol):
    """Where pins are kept."""

    async def load_pins(self) -> tuple[Pin, ...]:
        """Every pin."""
        ...

    async def save_pin(self, pin: Pin) -> None:
        """Keep `pin` in place of the tool's earlier one, durably."""
        ...


@dataclass(frozen=True, slots=True)
class PinCheck:
    """What comparing a definition with its pin gave."""

    sha256: str
    state: PinState
    changes: tuple[Difference, ...] = ()
    pinned_sha256: str = ""
    new_pin: Pin | None = None


def check_pin(definition: ToolDefinition, pinned: Pin | None, *, provider: str, follow: bool, now: float) -> PinCheck:
    """Compare a definition with its pin: pinned, or changed (quarantined).

    A definition seen for the first time is pinned as it is; with `follow` a changed one is too.
    """
    sha256 = fingerprint(definition)
    if pinned is not None and pinned.sha256 == sha256:
        return PinCheck(sha256, PinState.PINNED, pinned_sha256=sha256)
    if pinned is None or follow:
        new = make_pin(provider, definition, sha256, now, FIRST_USE if pinned is None else FOLLOWED)
        return PinCheck(sha256, PinState.PINNED, pinned_sha256=sha256, new_pin=new)
    before: JsonObject = json.loads(pinned.definition_json)
    changes = differences(before, definition_document(definition))
    return PinCheck(sha256, PinState.CHANGED, changes, pinned_sha256=pinned.sha256)


def make_pin(provider: str, definition: ToolDefinition, sha256: str, now: float, approved_by: str) -> Pin:
    """A pin of `definition`, accepted `now` by `approved_by`."""
    text = json.dumps(definition_document(definition), sort_keys=True)
    return Pin(provider, definition.name, sha256, text, now, approved_by)
