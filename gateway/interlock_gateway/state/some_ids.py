"""Statements about several ids at once, which may be any: of so many at a time, each statement being one text."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, bindparam

AT_ONCE = 50
_NAMES = tuple(f"id{number}" for number in range(AT_ONCE))


def is_one(column: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column is one of the ids of `parts`."""
    return column.in_([bindparam(name) for name in _NAMES])


def parts(ids: Sequence[str]) -> Iterator[dict[str, str]]:
    """The values of `is_one` for each run of the statement."""
    for at in range(0, len(ids), AT_ONCE):
        some = ids[at : at + AT_ONCE]
        yield dict(zip(_NAMES, (*some, *[some[0]] * (AT_ONCE - len(some))), strict=True))
