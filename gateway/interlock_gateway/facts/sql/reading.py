"""Reads SQL in every way it may be read. What one database would do counts, also when another sees only a comment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from interlock_gateway.facts.sql.lexing import MAX_CHARS, Kind, OtherTongueError, Token, UnreadableError, tokens
from interlock_gateway.facts.sql.statements import Statement, read, split
from interlock_gateway.facts.sql.tongues import Tongue, tongues
from interlock_gateway.facts.sql.verbs import EFFECT_OF, HIDDEN

MAX_STATEMENTS = 64
_VERBS = HIDDEN | EFFECT_OF.keys()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text does. `statements` are those of every reading, each once, with the databases that would run it so.

    `several` says that one of the readings has more than one. `problems` say why not all of it is understood.
    """

    statements: tuple[tuple[Statement, tuple[str, ...]], ...]
    several: bool
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The statements of the text as one database cuts it up."""

    tongue: Tongue
    found: tuple[Token, ...]
    parts: tuple[list[Token], ...]

    @property
    def code(self) -> tuple[str, ...]:
        """What is code and what is quoted, without what stands in the quotes."""
        return tuple("''" if token.kind in {Kind.STRING, Kind.QUOTED} else token.text for token in self.found)

    @property
    def verbs(self) -> Counter[str]:
        """How often each word stands in the code that starts something."""
        return Counter(token.text for token in self.found if token.kind is Kind.WORD and token.text in _VERBS)


def read_sql(text: str, dialect: str) -> Reading:
    """Read `text` as `dialect`, or as every database that is known when it is empty or none of them. Never raises."""
    problem = _unreadable(text)
    if problem:
        return Reading((), several=False, problems=(problem,))
    normal = text.replace("\r\n", "\n")
    cuts: list[_Cut] = []
    refused: list[str] = []
    for tongue in tongues(dialect, normal):
        try:
            found = tuple(tokens(normal, tongue))
        except OtherTongueError as error:
            refused.append(str(error))
            # Some databases run one statement before they look at the next.
            complete = _complete(error.before)
            parts = tuple(split(complete))
            cuts += [_Cut(tongue, complete, parts)] if parts else []
        except UnreadableError as error:
            return Reading((), several=False, problems=(str(error),))
        else:
            cuts.append(_Cut(tongue, found, tuple(split(found))))
    if not cuts:
        return Reading((), several=False, problems=tuple(dict.fromkeys(refused)))
    if max(len(cut.parts) for cut in cuts) > MAX_STATEMENTS:
        return Reading((), several=True, problems=(f"more than {MAX_STATEMENTS} statements",))
    return _together(cuts)


def _complete(before: Sequence[Token]) -> tuple[Token, ...]:
    """The statements that end before the place at which a text breaks off."""
    ends = [index for index, token in enumerate(before) if token.kind is Kind.SIGN and token.text == ";"]
    return tuple(before[: ends[-1]]) if ends else ()


def _unreadable(text: str) -> str | None:
    if len(text) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "not valid Unicode"
    return None


def _together(cuts: Sequence[_Cut]) -> Reading:
    groups: dict[tuple[str, ...], list[_Cut]] = {}
    for cut in cuts:
        groups.setdefault(cut.code, []).append(cut)
    understood: list[_Cut] = []
    doubtful: list[tuple[_Cut, list[Statement]]] = []
    found: dict[Statement, list[str]] = {}
    for group in groups.values():
        readings = _readings(group)
        clear = [(cut, statements) for cut, statements in readings if _clear(statements)]
        understood += [cut for cut, _ in clear]
        doubtful += readings[:1] if not clear else []
        for cut, statements in clear:
            _note(found, cut, statements)
    problems: list[str] = []
    for cut, statements in doubtful:
        # Text that only one database quotes is none of the others' business, unless it would start something there.
        known = Counter[str]()
        for other in understood:
            known |= other.verbs
        if understood and not cut.verbs - known:
            continue
        _note(found, cut, statements)
        problems += [statement.problem for statement in statements if statement.problem]
    several = any(len(cut.parts) > 1 for cut in cuts)
    entries = tuple((statement, tuple(dict.fromkeys(names))) for statement, names in found.items())
    problems += [] if entries else ["there is no statement in it"]
    return Reading(entries, several, tuple(dict.fromkeys(problems)))


def _readings(group: Sequence[_Cut]) -> list[tuple[_Cut, list[Statement]]]:
    """The same code in each dialect; one that is understood and only reads is enough."""
    readings: list[tuple[_Cut, list[Statement]]] = []
    for cut in group:
        statements = [read(part, cut.tongue) for part in cut.parts]
        readings.append((cut, statements))
        if _clear(statements) and all(statement.effect == "read" for statement in statements):
            break
    return readings


def _clear(statements: Sequence[Statement]) -> bool:
    return bool(statements) and all(statement.problem is None for statement in statements)


def _note(found: dict[Statement, list[str]], cut: _Cut, statements: Sequence[Statement]) -> None:
    for statement in statements:
        found.setdefault(statement, []).append(cut.tongue.name)
