"""One statement: what it does, as far as its words and its structure say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from interlock_gateway.facts.sql.calls import NO_FUNCTIONS, behind_values, called, named_before_parentheses, with_others
from interlock_gateway.facts.sql.lexing import Kind, Token, plainly
from interlock_gateway.facts.sql.places import names_server, reads_file
from interlock_gateway.facts.sql.structure import Condition, Table, understand
from interlock_gateway.facts.sql.tongues import Tongue
from interlock_gateway.facts.sql.verbs import (
    ASKING_PRAGMAS,
    EFFECT_OF,
    FUNCTIONS_TOO,
    HIDDEN,
    READING_PRAGMAS,
    RUN_ON,
    STRUCTURED,
    Effect,
)

MAX_SHOWN = 240
_EXPLAIN_WORDS = frozenset({"VERBOSE", "QUERY", "PLAN", "EXTENDED", "PARTITIONS", "ANALYZE", "ANALYSE", "FORMAT"})
_NAMES_THERE = frozenset({"LIMIT", "OFFSET", "FILTER", "WITHIN", "ROWS", "RANGE", "LATERAL", "INTERVAL"})
"""Those of them that may be the name of a table in SQL Server, and behind which no name follows elsewhere."""
_NAMES_TOO = frozenset({"USING", "RETURNING", "RECURSIVE"})
"""Those that may be one there, and behind which one may follow elsewhere."""
_NO_OPERANDS = (NO_FUNCTIONS - _NAMES_THERE) | {"COLUMN", "ADD", "DROP", "TO", "REFERENCES", "UPDATE"}
"""Words behind which a statement is not complete, so that a name may follow."""
_STARTING = HIDDEN | RUN_ON | {"FETCH"}

_ALONE = frozenset({"read", "write", "session", "transaction"})
_MADE_OF_MORE = frozenset({"TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"})
"""What no database makes of a name alone."""
_WITHOUT_CODE = frozenset({"table", "temp", "temporary", "index", "unique", "view"})


@dataclass(frozen=True, slots=True)
class Statement:
    """What one statement does. `kind` is its first word or what it turned out to be, in lower case; `object` the next.

    `effect` is the gravest thing it does. `files` says that it reads or writes files of the server, `programs` that it
    starts one. `calls` are its functions, with their schemas. `problem` says why it is not understood, and then it may
    do anything.
    """

    kind: str
    object: str
    effect: Effect
    text: str
    verbs: tuple[str, ...] = ()
    reads: tuple[Table, ...] = ()
    writes: tuple[Table, ...] = ()
    condition: Condition | None = None
    functions: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    files: bool = False
    programs: bool = False
    problem: str | None = None


def split(found: Sequence[Token]) -> list[list[Token]]:
    """The statements between semicolons, empty ones left out."""
    statements: list[list[Token]] = [[]]
    for token in found:
        if token.kind is Kind.SIGN and token.text == ";":
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def words(statement: Sequence[Token]) -> list[str]:
    """The words of a statement in capitals; for anything else its sign, or an empty string."""
    return [token.text if token.kind in {Kind.WORD, Kind.SIGN} else "" for token in statement]


def read(statement: Sequence[Token], tongue: Tongue) -> Statement:
    """What `statement` does if it is run by the database that speaks `tongue`. Never raises."""
    rest, runs = _unexplained(statement)
    if not rest:
        described = _named(statement, tongue, _first(statement).lower(), "read")
        return _doubted(described, f"{_first(statement)} of it is not understood") if _hidden(statement) else described
    inner = _alone(rest, tongue)
    if runs is False:
        # It is planned and not run; the planner may call functions all the same.
        return replace(
            inner,
            kind="explain",
            effect="read" if inner.problem is None else "unknown",
            text=_shown(statement),
            verbs=("explain",),
            condition=None,
            reads=(*inner.reads, *inner.writes),
            writes=(),
        )
    return inner


def _doubted(statement: Statement, problem: str) -> Statement:
    """The statement as one that may do anything, unless it is known to do worse than read."""
    return replace(statement, problem=problem, effect="unknown" if statement.effect == "read" else statement.effect)


def _unexplained(statement: Sequence[Token]) -> tuple[Sequence[Token], bool | None]:
    """A statement without EXPLAIN and its options, and whether it is run: None when there is no EXPLAIN."""
    texts = words(statement)
    if texts[0] not in {"EXPLAIN", "DESCRIBE", "DESC"}:
        return statement, None
    index, runs = 1, False
    while index < len(texts):
        if texts[index] == "(" and texts[index + 1 : index + 2] and texts[index + 1] not in {"SELECT", "WITH", "("}:
            end = texts.index(")", index) if ")" in texts[index:] else len(texts)
            # An option may be quoted, too.
            quoted = any(token.kind is Kind.QUOTED for token in statement[index:end])
            runs = runs or quoted or bool({"ANALYZE", "ANALYSE"} & set(texts[index:end]))
            index = end + 1
        elif texts[index] in _EXPLAIN_WORDS:
            runs = runs or texts[index] in {"ANALYZE", "ANALYSE"}
            index += 3 if texts[index + 1 : index + 2] == ["="] else 1
        else:
            break
    rest = statement[index:]
    known = rest and rest[0].kind is not Kind.QUOTED and (texts[index] in EFFECT_OF or texts[index] == "(")
    return (rest if known else []), runs


def _first(statement: Sequence[Token]) -> str:
    return next((text for text in words(statement) if text != "("), "")


def _named(statement: Sequence[Token], tongue: Tongue, kind: str, effect: Effect, **more: object) -> Statement:
    texts = words(statement)
    start = next((index for index, text in enumerate(texts) if text != "("), 0)
    following = texts[start + 1] if len(texts) > start + 1 else ""
    return Statement(
        kind=kind,
        object=following.lower() if following.isidentifier() else "",
        effect=effect,
        text=_shown(statement),
        functions=tuple(sorted(named_before_parentheses(statement) | behind_values(statement))),
        calls=called(statement, tongue),
        **more,  # type: ignore[arg-type]  # fields of Statement
    )


def _alone(statement: Sequence[Token], tongue: Tongue) -> Statement:
    """A statement that is no EXPLAIN."""
    first = _first(statement)
    effect = EFFECT_OF.get(first, "unknown")
    plain = _named(statement, tongue, first.lower(), effect, files=_files(statement), programs=_programs(statement))
    if first == "PRAGMA":
        return replace(plain, effect="read" if _asks(words(statement)) else "session", calls=())
    if effect == "unknown":
        return _doubted(plain, f"a statement that begins with {first[:40]!r} is not known")
    rendered = statement
    if first == "REPLACE":
        rendered = [replace(token, text="INSERT") if index == 0 else token for index, token in enumerate(statement)]
    structure = understand(plainly(rendered, tongue), tongue.dialect, len(statement))
    hidden = _hidden(rendered) - (structure.explained if structure else Counter()) - _defined(words(statement))
    if first not in STRUCTURED:
        hidden -= Counter([first])
    if _shows_how_made(statement):
        hidden -= Counter(["CREATE"])
    if first in STRUCTURED and structure is None:
        return _doubted(plain, "its structure is not understood")
    if hidden and (first in STRUCTURED or effect in _ALONE or _plainly_made(plain)):
        return _doubted(plain, f"{min(hidden)} in the middle of it is not understood")
    if structure is None:
        return plain
    plain = replace(plain, calls=with_others(plain.calls, structure.calls), effect=_more_than(effect, words(statement)))
    grave = {"insert", "update", "delete", "merge", "select into"} & {*structure.verbs}
    if first in STRUCTURED and effect == "read" and grave:
        plain = replace(plain, effect="write", kind=min(grave) if first == "WITH" or len(grave) == 1 else plain.kind)
    return replace(
        plain,
        verbs=structure.verbs,
        reads=structure.reads,
        writes=structure.writes,
        condition=structure.condition,
    )


def _locks(texts: Sequence[str]) -> bool:
    """Whether rows are locked until the transaction ends: `FOR UPDATE` and its kin."""
    return any(
        (first == "FOR" and second in {"UPDATE", "SHARE", "NO", "KEY"}) or (first, second) == ("IN", "SHARE")
        for first, second in pairwise(texts)
    )


def _more_than(effect: Effect, texts: Sequence[str]) -> Effect:
    """What a statement does that its first word says to only read."""
    if effect != "read":
        return effect
    if _moves(texts):
        return "write"
    return "session" if _locks(texts) else effect


def _moves(texts: Sequence[str]) -> bool:
    """Whether a sequence is moved on: `NEXT VALUE FOR s`, and `s.nextval` as MariaDB has it."""
    behind_dots = any((first, second) == (".", "NEXTVAL") for first, second in pairwise(texts))
    return behind_dots or any(texts[at : at + 3] == ["NEXT", "VALUE", "FOR"] for at in range(len(texts)))


def _plainly_made(statement: Statement) -> bool:
    """Whether it is one that has no code in it, such as a CREATE of anything that is no trigger and no procedure."""
    return statement.kind in {"analyze", "analyse", "comment"} or (
        statement.kind == "create" and statement.object in _WITHOUT_CODE
    )


def _defined(texts: Sequence[str]) -> Counter[str]:
    """The words of a CREATE that say what is done later on: `ON DELETE SET NULL`, `ON COMMIT DROP`, `ON CONFLICT`."""
    found: Counter[str] = Counter()
    if texts[0] != "CREATE":
        return found
    for index, (first, second) in enumerate(pairwise(texts)):
        following = texts[index + 2 : index + 4]
        if first != "ON":
            continue
        if second in {"DELETE", "UPDATE"} and following in (["SET", "NULL"], ["SET", "DEFAULT"]):
            found["SET"] += 1
        elif (
            second == "COMMIT"
            and following[:1] in (["DROP"], ["DELETE"])
            and following[1:] in ([], [")"], ["ROWS"], ["AS"])
        ):
            found.update(["COMMIT", following[0]])
        elif second == "CONFLICT" and following[:1] in (["REPLACE"], ["ROLLBACK"]):
            found[following[0]] += 1
    return found


def _shows_how_made(statement: Sequence[Token]) -> bool:
    """Whether it is `SHOW CREATE TABLE t` and nothing more: in SQL Server, SHOW would be the name of a procedure."""
    texts = words(statement)
    if texts[:2] != ["SHOW", "CREATE"] or len(texts) < 4 or texts[2] not in _MADE_OF_MORE:  # noqa: PLR2004 - up to a name
        return False
    names, dots = statement[3::2], texts[4::2]
    return (
        len(names) == len(dots) + 1
        and set(dots) <= {"."}
        and all(
            token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.text not in _STARTING) for token in names
        )
    )


def _asks(texts: Sequence[str]) -> bool:
    """Whether a PRAGMA only reads: `PRAGMA [schema.]name` or `PRAGMA name(what)`, of the right ones."""
    rest = [*texts[1:]]
    if rest[1:2] == ["."]:
        rest = rest[2:]
    if len(rest) == 1:
        return rest[0] in READING_PRAGMAS
    return len(rest) == 4 and rest[0] in ASKING_PRAGMAS and rest[1] == "(" and rest[3] == ")"  # noqa: PLR2004 - as above


def _hidden(statement: Sequence[Token]) -> Counter[str]:
    """The words of a statement that may start another one, where they are not plainly something else."""
    texts = words(statement)
    found: Counter[str] = Counter()
    for index, text in enumerate(texts):
        if statement[index].kind is not Kind.WORD or text not in _STARTING:
            continue
        before, after = texts[index - 1] if index else "", texts[index + 1] if index + 1 < len(texts) else ""
        if text not in HIDDEN:
            found[text] += index > 0 and _runs_on(text, statement[max(index - 2, 0) : index], after)
            continue
        name = before in {".", "AS"} or after == "." or (after == "(" and text in FUNCTIONS_TOO and index)
        lock = text == "UPDATE" and before in {"FOR", "KEY", "ON", "DO"}
        other = (text == "DELETE" and before == "ON") or (text == "SET" and before in {"CHARACTER", "CHAR"})
        index_hint = text == "USE" and after in {"INDEX", "KEY"}
        if not (name or lock or other or index_hint):
            found[text] += 1
    return found


def _runs_on(text: str, last: Sequence[Token], after: str) -> bool:
    """Whether a word that may name something starts a statement of SQL Server here: behind one that may be complete."""
    before = last[-1]
    if text == "FETCH":  # elsewhere it says how many rows are wanted
        return after not in {"FIRST", "NEXT"}
    if before.kind is Kind.SIGN:
        return before.text in {")", "]"} and after != "("
    return before.kind is not Kind.WORD or before.text not in _NO_OPERANDS or _is_name(last)


def _is_name(last: Sequence[Token]) -> bool:
    """Whether the last word is a name where it stands, though it could be more than that."""
    before, text = last[0], last[-1].text
    if before.kind is Kind.SIGN:
        return before.text in {".", "@", "#"} or (text in _NAMES_TOO and before.text not in {")", "]"})
    return text in _NAMES_TOO and before.kind is Kind.WORD and before.text in _NO_OPERANDS - {"WITH", text}


def _files(statement: Sequence[Token]) -> bool:
    """Whether it has the server read or write a file, or ask another server."""
    texts = words(statement)
    first = _first(statement)
    into = any(text in {"OUTFILE", "DUMPFILE"} for text in texts)
    copied = first == "COPY" and not {"STDIN", "STDOUT"} & {*texts}
    vacuumed = first == "VACUUM" and "INTO" in texts
    named = into or copied or vacuumed or reads_file(statement) or names_server(texts)
    return named or first in {"LOAD", "ATTACH", "BACKUP", "RESTORE", "BULK", "IMPORT", "INSTALL"}


def _programs(statement: Sequence[Token]) -> bool:
    """Whether it has the server start a program: the procedures of SQL Server that are its own programs, too."""
    first = _first(statement)
    if first == "COPY":
        return "PROGRAM" in words(statement)
    named = (token.text.upper() for token in statement if token.kind in {Kind.WORD, Kind.QUOTED})
    return first in {"EXEC", "EXECUTE"} and any(name.startswith(("XP_", "SP_OA")) for name in named)


def _shown(statement: Sequence[Token]) -> str:
    """The statement for a person to read, with what stands in quotes left out, cut to a bounded length."""
    pieces: list[str] = []
    length = 0
    for token in statement:
        quoted = {Kind.STRING: "'\u2026'", Kind.QUOTED: f'"{token.text}"'}
        pieces.append((" " if token.spaced and pieces else "") + quoted.get(token.kind, token.source))
        length += len(pieces[-1])
        if length > MAX_SHOWN:
            break
    text = "".join(pieces)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "\u2026"
