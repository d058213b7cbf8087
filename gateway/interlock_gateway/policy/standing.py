"""How the exemptions of a loaded policy stand: in force, about to end, ended; and what is said about those (POL-2)."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.exemptions import EVERYTHING

EXPIRES_SOON_S = 30 * 86_400
"""How long before its end an exemption is warned about."""
_DAY_S = 86_400


class Standing(StrEnum):
    """How an exemption stands at a time."""

    IN_FORCE = "in_force"
    EXPIRING = "expiring"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class LoadedExemption:
    """An exemption of a loaded policy, with its scope as it was written.

    `expires` is RFC 3339 in UTC, `expires_at` the same in Unix seconds.
    """

    id: str
    rule: str
    scope: JsonValue
    reason: str
    owner: str
    becomes: str
    expires: str
    expires_at: float

    def standing(self, now: float) -> Standing:
        """How it stands at that Unix time. One that is about to end is in force."""
        if now >= self.expires_at:
            return Standing.EXPIRED
        return Standing.EXPIRING if now >= self.expires_at - EXPIRES_SOON_S else Standing.IN_FORCE


def loaded_exemptions(bundle: PolicyBundle) -> tuple[LoadedExemption, ...]:
    """Those of a loaded policy, by when they end; the ended too."""
    entries = json.loads(bundle.data_json).get("interlock", {}).get("exemptions", {}).get("entries", {})
    found = (
        LoadedExemption(
            id=name,
            rule=entry["rule"],
            scope=_as_written(entry["scope"]),
            reason=entry["reason"],
            owner=entry["owner"],
            becomes=entry["becomes"],
            expires=entry["expires"],
            expires_at=entry["expires_unix_s"],
        )
        for name, entry in entries.items()
    )
    return tuple(sorted(found, key=lambda one: (one.expires_at, one.id)))


def warnings(exemptions: Iterable[LoadedExemption], now: float) -> tuple[Problem, ...]:
    """What operators are told about those that have ended or soon will; none of it keeps policies from being loaded."""
    return tuple(_warning(one, now) for one in exemptions if one.standing(now) is not Standing.IN_FORCE)


def _warning(exemption: LoadedExemption, now: float) -> Problem:
    who = f"exemption {exemption.id} ({exemption.owner}) of {exemption.rule}"
    return Problem("", 0, f"exemption_{exemption.standing(now).value}", f"{who} {_when(exemption, now)}")


def _when(exemption: LoadedExemption, now: float) -> str:
    if exemption.standing(now) is Standing.EXPIRED:
        return f"ended at {exemption.expires} and has no effect; take it out"
    return f"ends at {exemption.expires}, in {int((exemption.expires_at - now) // _DAY_S)} days"


def _as_written(scope: Mapping[str, Any]) -> JsonValue:
    if scope == {EVERYTHING: True}:
        return EVERYTHING
    return {name: _words(value) for name, value in scope.items()}


def _words(value: Mapping[str, Any]) -> JsonValue:
    if all(item is True for item in value.values()):
        return [*sorted(value)]
    return {name: _words(inner) for name, inner in value.items()}
