"""Which exemptions there are for the rules that fired, and what became of each (POL-2)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

NOT_COVERED = "does not cover this call"


@dataclass(frozen=True, slots=True)
class ExemptionSeen:
    """An exemption of a rule that fired: `standing` is `applied`, `expired`, or `does not cover this call`."""

    id: str
    rule: str
    owner: str
    expires: str
    standing: str
    scope: str = ""


def exemptions_seen(
    data: Mapping[str, Any], rules: Iterable[str], notes: Iterable[str], at: float
) -> Iterator[ExemptionSeen]:
    """The exemptions of some rules. `notes` are the decision's, which name those that applied; `at` is Unix seconds."""
    exemptions = _mapping(_mapping(data, "interlock"), "exemptions")
    entries = _mapping(exemptions, "entries")
    said = tuple(notes)
    for rule in rules:
        shelves = _mapping(_mapping(exemptions, "by_rule"), rule)
        for name in sorted(set(_named(shelves))):
            entry = _mapping(entries, name)
            yield ExemptionSeen(
                id=name,
                rule=rule,
                owner=str(entry.get("owner", "")),
                expires=str(entry.get("expires", "")),
                standing=_standing(name, entry, said, at),
                scope=str(entry.get("scope_text", "")),
            )


def never_exempted(data: Mapping[str, Any], rule: str) -> str:
    """Why a rule is never exempted; empty when it can be."""
    return str(_mapping(_mapping(_mapping(data, "interlock"), "exemptions"), "never").get(rule, ""))


def _standing(name: str, entry: Mapping[str, Any], notes: tuple[str, ...], at: float) -> str:
    if any(note.startswith(f"exemption {name} ") for note in notes):
        return "applied"
    ends = entry.get("expires_unix_s")
    if isinstance(ends, int | float) and at >= ends:
        return "expired"
    return NOT_COVERED


def _named(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for inner in node.values():
            yield from _named(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _named(inner)


def _mapping(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = node.get(name)
    return found if isinstance(found, Mapping) else {}
