"""What sqlglot makes of one statement: its tables, its conditions, and which words of it that explains.

sqlglot tries out and goes back, in some places again and again for each level of nesting: its steps are counted, and
what takes too many is not understood. What it only keeps as text (`Command`) is not understood either.
"""

import functools
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from interlock_gateway.facts.sql.conditions import trivial, whole

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.parser import Parser

STEPS_PER_TOKEN = 60
STEPS_AT_LEAST = 4_000

Condition: TypeAlias = Literal["none", "trivial", "given"]
CONDITIONS: tuple[Condition, ...] = ("none", "trivial", "given")
"""What restricts the rows that are changed: nothing, a condition that does not depend on them, or a condition."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's own name and all of it, in lower case."""

    name: str
    qualified: str


@dataclass(frozen=True, slots=True)
class Structure:
    """What one statement is made of. `verbs` is what it does, in lower case; `explained` counts words, in capitals.

    `calls` are the functions that sqlglot does not know itself, in lower case.
    """

    verbs: tuple[str, ...]
    reads: tuple[Table, ...]
    writes: tuple[Table, ...]
    condition: Condition | None
    explained: Counter[str]
    calls: tuple[str, ...] = ()


class _TooManySteps(Exception):  # noqa: N818 - never seen outside
    pass


def understand(text: str, dialect: str, size: int) -> Structure | None:
    """Read one statement of `size` tokens as `dialect` has it; None when it is not understood. Never raises."""
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - seventeen megabytes, for those who have a tool for SQL

    language = _dialect(dialect)
    parser = _bounded(dialect)(dialect=language)
    parser.steps_left = STEPS_AT_LEAST + STEPS_PER_TOKEN * size  # type: ignore[attr-defined]  # made below
    try:
        trees = [tree for tree in parser.parse(language.tokenize(text), text) if tree is not None]
        return _structure(trees[0], dialect) if len(trees) == 1 else None
    except (SqlglotError, _TooManySteps, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        # It means to raise its own errors only; on mangled input it also runs into its own assumptions.
        return None


@functools.cache
def _dialect(name: str) -> "Dialect":
    from sqlglot.dialects.dialect import Dialect  # noqa: PLC0415 - as above

    # It tells the log of what it does not support; here that is an answer.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    return Dialect.get_or_raise(name)


@functools.cache
def _bounded(name: str) -> "type[Parser]":
    """The parser of a dialect, which gives up when it has moved about more often than it may."""
    parser = _dialect(name).parser_class
    move = parser._advance  # noqa: SLF001 - the one way in which it moves

    def advance(self: "Parser", times: int = 1) -> None:
        self.steps_left -= 1  # type: ignore[attr-defined]  # set where it is made
        if self.steps_left < 0:  # type: ignore[attr-defined]  # as above
            raise _TooManySteps
        move(self, times)

    return type(f"Bounded{parser.__name__}", (parser,), {"_advance": advance})


def _structure(tree: "exp.Expr", dialect: str) -> Structure | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    nodes = list(tree.walk())
    if any(isinstance(node, exp.Command) for node in nodes):
        return None
    tables = [node for node in nodes if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier | exp.Dot)]
    changed = [(node, target) for node in nodes for target in _targets(node)]
    meant = [(node, _meant(node, target, dialect)) for node, target in changed]
    # SQL Server changes rows through a query that has a name: those of the tables in it.
    writes = dict.fromkeys(_table(table) for table in (*(target for _, target in meant), *_behind(meant, nodes)))
    seen = {id(target) for _, target in changed}
    reads = dict.fromkeys(_table(table) for table in tables if id(table) not in seen and not _is_own(table))
    conditions = [
        _condition(node) for node in nodes if isinstance(node, exp.Delete | exp.Update) and _stands_alone(node)
    ]
    conditions += [
        _branch_condition(node, branch)
        for node in nodes
        if isinstance(node, exp.Merge)
        for branch in _changing_branches(node)
    ]
    explained: Counter[str] = Counter()
    for node in nodes:
        explained.update(_EXPLAINS.get(type(node).__name__, ()))
    return Structure(
        verbs=tuple(dict.fromkeys(verb for node in nodes if (verb := _VERBS.get(type(node).__name__)))),
        reads=tuple(table for table in reads if table not in writes),
        writes=tuple(writes),
        condition=min(conditions, key=CONDITIONS.index) if conditions else None,
        explained=explained,
        calls=tuple(
            node.name.lower()
            for node in nodes
            if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and node.name
            # `WITH (INDEX(a))` says how a table is read.
            if not isinstance(node.parent, exp.WithTableHint)
        ),
    )


_VERBS = {
    **{name: name.lower() for name in ("Select", "Values", "Insert", "Update", "Delete", "Merge", "Create", "Drop")},
    **{name: name.lower() for name in ("Alter", "Grant", "Revoke", "Copy", "Set", "Use", "Execute", "Declare", "Kill")},
    "Into": "select into",
    "TruncateTable": "truncate",
    "IfBlock": "if",
    "WhileBlock": "while",
}
_EXPLAINS = {
    "Insert": ("INSERT", "INTO"),
    "Update": ("UPDATE", "SET"),
    "Delete": ("DELETE",),
    "Merge": (*("MERGE", "INTO"), *(("INSERT", "UPDATE", "DELETE", "SET") * 8)),
    "Into": ("INTO",),
    "OnConflict": ("SET",),
}


def _stands_alone(node: "exp.Expr") -> bool:
    """Whether it is not one of the branches of a MERGE, whose condition is the join's."""
    return type(node.parent).__name__ != "When"


def _targets(node: "exp.Expr") -> Iterator["exp.Table"]:
    """The tables that this node alone changes."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    found: list[object] = []
    if isinstance(node, exp.Insert | exp.Merge | exp.Create | exp.Alter | exp.Into | exp.Copy | exp.LoadData):
        found = [node.this]
    elif isinstance(node, exp.Update) and _stands_alone(node):
        # Of tables that are joined, any may be the one whose columns are set.
        found = [node.this, *(join.this for join in node.this.args.get("joins") or ())]
    elif isinstance(node, exp.Delete):
        found = [*(node.args.get("tables") or [node.this])]
    elif isinstance(node, exp.Drop | exp.TruncateTable):
        found = [node.args.get("this"), *(node.args.get("tables") or ()), *node.expressions]
    for target in found:
        inner = target
        while isinstance(inner, exp.Schema | exp.Index):
            inner = inner.args.get("table") or inner.this
        if isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier | exp.Dot):
            yield inner


def _meant(node: "exp.Expr", target: "exp.Table", dialect: str) -> "exp.Table":
    """The table that is changed where `target` may be another name for it, given by `node`: `UPDATE t FROM x t`."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    if dialect not in {"mysql", "tsql"} or not isinstance(node, exp.Update | exp.Delete) or len(target.parts) > 1:
        return target
    name = _table(target).name
    named = (table for table in node.find_all(exp.Table) if table.alias.lower() == name)
    return next((table for table in named if table.find_ancestor(exp.Query, exp.DML) is node), target)


def _is_own(table: "exp.Table") -> bool:
    """Whether it is a query that the statement itself names and that is known where `table` stands.

    A query does not know itself, nor those named after it: `WITH t AS (SELECT * FROM t)` reads a table.
    """
    from sqlglot import exp  # noqa: PLC0415 - as above

    if len(table.parts) > 1:
        return False
    within: exp.Expr = table
    while (outer := within.parent) is not None:
        if isinstance(outer, exp.With):
            before = outer.expressions if outer.recursive else itertools.takewhile(_other(within), outer.expressions)
            if _names(before, table):
                return True
        else:
            named = outer.args.get("with_")
            if named is not None and named is not within and _names(named.expressions, table):
                return True
        within = outer
    return False


def _behind(changed: "Iterable[tuple[exp.Expr, exp.Table]]", nodes: "Iterable[exp.Expr]") -> Iterator["exp.Table"]:
    """The tables in queries that have the name of one that is changed, and in those that they name.

    To SQL Server names are the same with other capitals, quoted too.
    """
    from sqlglot import exp  # noqa: PLC0415 - as above

    queries = {query.alias.lower(): query for query in nodes if isinstance(query, exp.CTE | exp.Subquery)}
    of_any = (exp.Update, exp.Delete)
    named = ((node, table, queries.get(table.name.lower())) for node, table in changed if len(table.parts) == 1)
    wanted = [table for node, table, query in named if isinstance(query, exp.CTE) or isinstance(node, of_any)]
    seen = set[str]()
    while wanted:
        name = wanted.pop().name.lower()
        if name in seen or name not in queries:
            continue
        seen.add(name)
        inside = [one for one in queries[name].find_all(exp.Table) if isinstance(one.this, exp.Identifier)]
        wanted += (one for one in inside if len(one.parts) == 1)
        yield from (one for one in inside if not _is_own(one))


def _names(queries: "Iterable[exp.Expr]", table: "exp.Table") -> bool:
    """Whether one of the queries has the table's name, which has capitals only where it is quoted."""
    return any(_folded(query.args["alias"].this) == _folded(table.this) for query in queries)


def _folded(name: "exp.Expr") -> str:
    return name.name if name.args.get("quoted") else name.name.lower()


def _other(one: "exp.Expr") -> Callable[["exp.Expr"], bool]:
    return lambda query: query is not one


def _table(node: "exp.Table") -> Table:
    parts = [part.name.lower() for part in node.parts]
    return Table(parts[-1], ".".join(parts))


def _condition(node: "exp.Expr") -> Condition:
    from sqlglot import exp  # noqa: PLC0415 - as above

    where = node.args.get("where")
    if where is not None:
        return "trivial" if trivial(where.this, *_alone(node)) else "given"
    joins = [join for table in node.find_all(exp.Table) for join in table.args.get("joins") or ()]
    restricting = [join.args["on"] for join in joins if join.args.get("on") is not None]
    # A join to another table restricts what is changed as a condition would, unless it keeps what finds no partner.
    inner = all(join.side in {"", "RIGHT"} for join in joins)
    using = any(join.args.get("using") for join in joins)
    return "given" if inner and (using or any(not trivial(on) for on in restricting)) else "none"


def _alone(node: "exp.Expr") -> tuple[str | None, frozenset[str]]:
    """The table whose rows are changed and the names that it goes by, when no other one is joined to it."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    target = node.this
    joined = any(node.args.get(part) for part in ("from_", "using", "tables", "joins"))
    if joined or not isinstance(target, exp.Table) or target.args.get("joins"):
        return None, frozenset()
    return _table(target).qualified, frozenset({_table(target).name, target.alias.lower()} - {""})


def _changing_branches(merge: "exp.Merge") -> list["exp.When"]:
    """The branches of a MERGE that change or delete rows."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    return [
        branch
        for branch in merge.args["whens"].expressions
        if isinstance(branch.args["then"], exp.Update | exp.Delete) or branch.args["then"].name.upper() == "DELETE"
    ]


def _branch_condition(merge: "exp.Merge", branch: "exp.When") -> Condition:
    """What restricts a branch: its own condition, or the join's, which restricts nothing where a table joins itself."""
    own = branch.args.get("condition")
    if own is not None and not trivial(own):
        return "given"
    joined = merge.args.get("on")
    itself = whole(merge.args.get("using")) == whole(merge.this)
    return "trivial" if itself or joined is None or trivial(joined) else "given"
