"""How the exemptions of a loaded policy stand: in force, about to end, ended; and what is said about those (POL-2)."""

import json
from collections.abc import Mapping
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
class StandingExemption:
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
    standing: Standing


def standing_exemptions(bundle: PolicyBundle, now: float) -> tuple[StandingExemption, ...]:
    """Those of a loaded policy, by when they end; expired ones too."""
    entries = json.loads(bundle.data_json).get("interlock", {}).get("exemptions", {}).get("entries", {})
    found = (
        StandingExemption(
            id=name,
            rule=entry["rule"],
            scope=_as_written(entry["scope"]),
            reason=entry["reason"],
            owner=entry["owner"],
            becomes=entry["becomes"],
            expires=entry["expires"],
            expires_at=entry["expires_unix_s"],
            standing=_standing(entry["expires_unix_s"], now),
        )
        for name, entry in entries.items()
    )
    return tuple(sorted(found, key=lambda one: (one.expires_at, one.id)))


def _standing(expires_at: float, now: float) -> Standing:
    if now >= expires_at:
        return Standing.EXPIRED
    return Standing.EXPIRING if now >= expires_at - EXPIRES_SOON_S else Standing.IN_FORCE


def warnings(exemptions: tuple[StandingExemption, ...], now: float) -> tuple[Problem, ...]:
    """What operators are told about those that have ended or soon will; none of it keeps policies from being loaded."""
    return tuple(
        Problem(
            "",
            0,
            f"exemption_{one.standing.value}",
            f"exemption {one.id} ({one.owner}) of {one.rule} {_when(one, now)}",
        )
        for one in exemptions
        if one.standing is not Standing.IN_FORCE
    )


def _when(exemption: StandingExemption, now: float) -> str:
    if exemption.standing is Standing.EXPIRED:
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
