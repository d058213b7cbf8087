"""Exemptions: the one way in which an operator loosens what the rules decide (POL-2). Overlays hold them.

Each names a rule, whom and what it covers, why, who answers for it, and when it ends. They are read strictly, and put
into the data so that a decision looks up those that may concern it and no others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.settings import Places, PolicySourceError

LONGEST_S = 366 * 86_400
"""An exemption ends at most this long after it is loaded."""
EVERYTHING = "everything"
ANY = "any"
"""Where an exemption is filed that no list in its scope narrows down."""
MOST_ALIKE = 100
"""How many exemptions of a rule a decision may have to look at one after the other."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_EVERY_RULE = "/*"


def _line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


def _inside(path: str) -> str:
    parts = path.rstrip("/").split("/")
    if path.startswith("/") or not all(parts) or {".", ".."} & set(parts):
        raise ValueError("must be a path below the workspace, without `.` and `..`")
    return "/".join(parts)


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300), AfterValidator(_line)]
Domain = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^[0-9a-f:.]+$", max_length=253)]
Command = Annotated[str, StringConstraints(pattern=r"^[^\s/]+( [^\s/]+)?$", max_length=200)]
BelowWorkspace = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_inside)]
Names = Annotated[list[Words], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Scope(_Part):
    """Which calls are covered: those that every given matcher matches. Of things in the call, it has to match all."""

    principals: Names | None = None
    """Ids of principals."""
    roles: Names | None = None
    """Roles of the principal; one is enough."""
    groups: Names | None = None
    """Groups of the principal; one is enough."""
    tools: Names | None = None
    providers: Names | None = None
    effects: (
        Annotated[list[Literal["read_only", "mutating", "destructive", "undeclared"]], Field(min_length=1)] | None
    ) = None
    session_labels: Annotated[dict[str, Names], Field(min_length=1)] | None = None
    """Label of the session to the values it may have; the client names them."""
    domains: Annotated[list[Domain], Field(min_length=1)] | None = None
    """Hosts that the call reaches, or domains they lie under (`webfetch`)."""
    commands: Annotated[list[Command], Field(min_length=1)] | None = None
    """Programs, or programs with a subcommand, as the settings know them (`bash`)."""
    paths: Annotated[list[BelowWorkspace], Field(min_length=1)] | None = None
    """Files, or directories with all below them, by their path in the workspace (`file`)."""
    tables: Names | None = None
    """Tables that the statements name (`sql`)."""

    @model_validator(mode="after")
    def _not_empty(self) -> "Scope":
        if not self.model_fields_set:
            raise ValueError("covers every call; say `scope: everything` if that is meant")
        return self


def _some_scope(value: object) -> object:
    if value != EVERYTHING and not isinstance(value, dict):
        raise ValueError("must say whom and what it covers, or `everything`")
    return value


class Exemption(_Part):
    """One exemption as it is written."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    rule: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+(/[a-z0-9_]+)*/([a-z0-9_]+|\*)$")]
    """A rule's name, or a concern and `/*` for all of its rules."""
    scope: Annotated[Scope | Literal["everything"], BeforeValidator(_some_scope)]
    reason: Words
    owner: Words
    expires: str
    """RFC 3339."""
    becomes: Literal["allow", "preview", "checkpoint"] = "allow"

    @model_validator(mode="after")
    def _ends(self) -> "Exemption":
        ends_at(self.expires)
        return self


def ends_at(expires: str) -> float:
    """The Unix time that an `expires` says. Raises `ValueError`."""
    if not _TIME.fullmatch(expires):
        raise ValueError("expires must be a time with its zone, such as 2027-01-31T00:00:00Z")
    return datetime.fromisoformat(expires.upper()).timestamp()


Placed = tuple[Exemption, str]
"""An exemption, and where it stands."""


def read_exemptions(
    written: JsonValue, places: Places, problems: list[PolicySourceError], *, now: float | None
) -> tuple[Placed, ...]:
    """The good exemptions in an overlay's data; none ends later than a year after `now`, when that is given.

    What is wrong with the others goes to `problems`, each with its place and the entry.
    """
    if not isinstance(written, list):
        problems.append(PolicySourceError(places.at(), "exemptions must be a list"))
        return ()
    found: list[Placed] = []
    for number, entry in enumerate(written):
        where = f"exemption {_named(entry) or number + 1}"
        try:
            exemption = Exemption.model_validate(entry)
        except ValidationError as error:
            wrong = _wrong(error)
            problems += [PolicySourceError(places.at(number, *path), f"{where}: {words}") for path, words in wrong]
            continue
        if now is not None and ends_at(exemption.expires) > now + LONGEST_S:
            late = f"{where}: expires is more than {LONGEST_S // 86_400} days ahead"
            problems.append(PolicySourceError(places.at(number, "expires"), late))
            continue
        found.append((exemption, places.at(number)))
    return tuple(found)


def indexed(
    exemptions: Iterable[Placed],
    rules: Iterable[str],
    never: Mapping[str, JsonValue],
    problems: list[PolicySourceError],
) -> JsonObject:
    """The exemptions, each with its place, as the data that decisions read; `rules` are the names of all rules.

    Notes in `problems` two of one id, a rule that there is not, one that is in `never`, or too many that a decision
    could not tell apart without trying each.
    """
    entries: JsonObject = {}
    of_rule: dict[str, list[Placed]] = {}
    known = sorted(rules)
    for exemption, place in exemptions:
        if exemption.id in entries:
            twice = f"exemption {exemption.id}: there is another one of this id"
            problems.append(PolicySourceError(place, twice))
            continue
        entries[exemption.id] = _entry(exemption)
        try:
            for rule in _rules(exemption, known, never, place):
                of_rule.setdefault(rule, []).append((exemption, place))
        except PolicySourceError as problem:
            problems.append(problem)
    by_rule: JsonObject = {}
    for rule, found in of_rule.items():
        try:
            by_rule[rule] = _shelved(rule, found)
        except PolicySourceError as problem:
            problems.append(problem)
    return {"never": dict(never), "entries": entries, "by_rule": by_rule}


def _entry(exemption: Exemption) -> JsonObject:
    at = ends_at(exemption.expires)
    return {
        "rule": exemption.rule,
        "scope": {EVERYTHING: True} if isinstance(exemption.scope, str) else _looked_up(exemption.scope),
        "scope_text": _as_text(exemption.scope),
        "reason": exemption.reason,
        "owner": exemption.owner,
        "becomes": exemption.becomes,
        "expires": datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z"),
        "expires_unix_s": at,
    }


def _looked_up(scope: Scope) -> JsonObject:
    """The matchers with their lists as objects: policies look things up and do not search."""
    given = scope.model_dump(exclude_none=True)
    return {name: _keys(value) for name, value in given.items()}


def _as_text(scope: Scope | str) -> str:
    """The scope as it is told to people: JSON, as it was written."""
    return scope if isinstance(scope, str) else json.dumps(scope.model_dump(exclude_none=True), sort_keys=True)


def _keys(value: Any) -> JsonValue:
    if isinstance(value, dict):
        return {name: _keys(inner) for name, inner in value.items()}
    return dict.fromkeys(value, True)


def _rules(exemption: Exemption, known: Sequence[str], never: Mapping[str, JsonValue], place: str) -> list[str]:
    name, where = exemption.rule, f"exemption {exemption.id}"
    if name in never:
        raise PolicySourceError(place, f"{where}: {name} is never exempted: {never[name]}")
    if not name.endswith(_EVERY_RULE):
        if name not in known:
            raise PolicySourceError(place, f"{where}: there is no rule {name}")
        return [name]
    meant = [rule for rule in known if rule.startswith(name.removesuffix("*")) and rule not in never]
    if not meant:
        raise PolicySourceError(place, f"{where}: there is no rule {name} that can be exempted")
    return meant


def _shelved(rule: str, exemptions: Sequence[tuple[Exemption, str]]) -> JsonObject:
    """The ids of one rule's exemptions where the calls that each may cover find it.

    Each is filed under every value of one of its matchers: that whose values the fewest others have too.
    """
    keys = [_keys_by_matcher(exemption) for exemption, _ in exemptions]
    having = Counter((matcher, key) for found in keys for matcher, values in found.items() for key in values)
    shelves: dict[str, dict[str, Any]] = {}
    for (exemption, place), found in zip(exemptions, keys, strict=True):
        _, matcher = min((max(having[name, key] for key in values), name) for name, values in found.items())
        for key in found[matcher]:
            alike = shelves.setdefault(matcher, {}).setdefault(key, [])
            alike.append(exemption.id)
            if len(alike) > MOST_ALIKE:
                what = f"of the same {matcher}, {key}" if key else "of any call"
                raise PolicySourceError(place, f"exemption {exemption.id}: more than {MOST_ALIKE} of {rule} are {what}")
    return {**shelves}


def _keys_by_matcher(exemption: Exemption) -> Mapping[str, Sequence[str]]:
    given = {} if isinstance(exemption.scope, str) else exemption.scope.model_dump(exclude_none=True)
    return {name: values for name, values in given.items() if isinstance(values, list)} or {ANY: [""]}


def _named(entry: JsonValue) -> str:
    return str(entry.get("id") or "") if isinstance(entry, dict) else ""


def _wrong(error: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """All that is wrong with an entry: the path to it, and the words."""
    problems = error.errors()
    told = [_said(problem["loc"], problem["type"], problem["msg"]) for problem in problems]
    # A scope is one of two things, and of what is meant as the one it need not be said that it is not the other.
    is_scope = [bool(path) and path[0] == "scope" for path, _ in told]
    spare = [one["type"] == "literal_error" and mine for one, mine in zip(problems, is_scope, strict=True)]
    if all(not mine or no for mine, no in zip(is_scope, spare, strict=True)):
        return told
    return [one for one, no in zip(told, spare, strict=True) if not no or one[0] != ("scope",)]


def _said(location: tuple[str | int, ...], kind: str, message: str) -> tuple[tuple[str | int, ...], str]:
    # A part in brackets is one of pydantic's own.
    path = tuple(part for part in location if "[" not in str(part))
    name = ".".join(map(str, path))
    if kind == "extra_forbidden":
        return path, f"unknown key {name}"
    if kind == "missing":
        return path, f"{name} is missing"
    words = message.removeprefix("Value error, ")
    return path, f"{name}: {words}" if name else words
