"""What comparisons with the data that policies are loaded with come to: it is known before any call.

Most settings that ship are empty, and the policies ask first whether they are. The answer is the same for every call.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Mapping
from itertools import pairwise

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.policy.embedded.rego_text import Tokens, is_name, levels, matching, statements, with_queries

_MISSING = object()
_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*\"|[{}\[\]:,]|true|false|null")
_NEVER, _ALWAYS = ["false"], ["true"]
# `data`, `.`, and two names: what lies above is not looked at.
_SHORTEST = 5


class KnownData:
    """The data, and which of its places are `rules` of a package in place of it: a package's rules by its name."""

    def __init__(self, data_json: str, rules: Mapping[str, Container[str]]) -> None:
        self._data: JsonValue = json.loads(data_json)
        self._rules = rules

    def without(self, query: Tokens, head: Tokens) -> Tokens:
        """A query of a rule without what is known of it. What is never true ends it, as it does when it is asked.

        What names in the rule's `head` stand for stays.
        """
        if "data" not in query:
            return query
        given = Counter(name for name, after in pairwise(query) if after == ":=")
        taken = {name for at, one in enumerate(query) if one in {"some", "every"} for name in _pattern(query, at)}
        # A name that is given once, anywhere, stands for one thing.
        once = {name for name, times in given.items() if times == 1 and is_name(name) and name not in taken}
        found = self._query(query, {}, once)
        if "|" in head and any(name in head and name not in found for name in {*given, *taken}):
            # The engine refuses names in a comprehension, or of a member, that nothing gives, asked for or not.
            return [*found, "\n", *query] if found == _NEVER else query
        used = Counter([*found, *head])
        idle = {name for name in once if used[name] == 1}
        return self._query(found, {}, once, idle) if idle else found

    def _query(self, query: Tokens, named: Mapping[str, Tokens], once: set[str], idle: Container[str] = ()) -> Tokens:
        parts = statements(query)
        if parts is None:
            return query
        named = dict(named)
        made: Tokens = []
        for part in parts:
            if part[1:2] == [":="] and part[0] in once and (value := self._place(part[2:], named)) is not None:
                named[part[0]] = _path(part[2:], named)
                if part[0] in idle and value is not _MISSING:
                    continue
            one = with_queries(part, lambda query: self._query(query, named, once, idle))
            known = self._known(one, named)
            if known is not True:
                made += ["\n"] * bool(made) + (one if known is None else _NEVER)
            if known is False:
                return made
        return made or _ALWAYS

    def _known(self, part: Tokens, named: Mapping[str, Tokens]) -> bool | None:
        """Whether a statement always holds, or never; `None` when that depends."""
        if part[0] == "not":
            known = self._known(part[1:], named)
            return None if known is None else not known
        if part[:4] == ["[", "1", "|", "\n"] and part[-5:] == ["\n", "]", "==", "[", "]"]:
            inner = part[4:-5]
            return False if inner == _ALWAYS else True if inner == _NEVER else None
        if self._is_of_nothing(part[2:] if part[1:2] == [":="] else part, named):
            return False
        return self._compared(part, named) if part[0] == "data" or part[0] in named else None

    def _compared(self, part: Tokens, named: Mapping[str, Tokens]) -> bool | None:
        sign = next((at for at, (one, level) in enumerate(levels(part)) if one in {"==", "!="} and not level), 0)
        value, literal = self._place(part[:sign], named), _literal(part[sign + 1 :])
        if value is None or literal is None:
            return None
        return value is not _MISSING and (_written(value) == literal) == (part[sign] == "==")

    def _is_of_nothing(self, part: Tokens, named: Mapping[str, Tokens]) -> bool:
        """Whether it is a call with one thing that is missing: of that no function says anything."""
        opening = part.index("(") if "(" in part else 0
        if not opening or matching(part, opening) != len(part) - 1 or not all(map(is_name, part[:opening:2])):
            return False
        if part[0] == "print":  # it is the one that does
            return False
        return self._place(part[opening + 1 : -1], named) is _MISSING

    def _place(self, part: Tokens, named: Mapping[str, Tokens]) -> object:
        """What lies in a place of the data; `None` for anything else, and for a null."""
        if not part or (part[0] != "data" and part[0] not in named):
            return None
        path = _path(part, named)
        names = path[2::2]
        if path[:1] != ["data"] or len(path) < _SHORTEST or set(path[1::2]) != {"."} or not all(map(_is_part, names)):
            return None
        if len(path) % 2 == 0 or names[1] in self._rules.get(names[0], ()) or not isinstance(self._data, dict):
            return None
        found: object = self._data
        for name in names:
            if not isinstance(found, dict) or name not in found:
                return _MISSING
            found = found[name]
        return found


def _path(part: Tokens, named: Mapping[str, Tokens]) -> Tokens:
    return [*named.get(part[0], part[:1]), *part[1:]]


def _pattern(query: Tokens, at: int) -> Tokens:
    end = query.index("in", at) if "in" in query[at:] else len(query)
    return query[at + 1 : end]


def _is_part(token: str) -> bool:
    return token.isidentifier()


def _literal(tokens: Tokens) -> str | None:
    """A value without numbers, which are written in several ways, as `_written` writes it."""
    kept = [one for one in tokens if one != "\n"]
    if not all(map(_LITERAL.fullmatch, kept)):
        return None
    # Rego allows a comma before a bracket closes.
    text = "".join(one for one, after in pairwise([*kept, ""]) if one != "," or after not in {"]", "}"})
    try:
        return _written(json.loads(text))
    except ValueError:
        return None


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True)
