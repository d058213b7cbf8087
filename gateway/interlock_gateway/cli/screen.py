"""What a command shows: JSON for programs, tables for people, plain text where no terminal is.

Everything that is shown to people passes `visible`; a command never prints by itself.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import typer

from interlock_gateway.cli.jsonable import to_json
from interlock_gateway.core.visible import visible, visible_line


class OutputFormat(StrEnum):
    """How a command shows its result."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; `empty` is said when there are none."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    empty: str = "nothing to show"
    title: str = ""

    def cells(self) -> list[list[str]]:
        """The rows as safe text, each cell on one line."""
        return [[cell(value) for value in row] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Fields:
    """Names with values, those without a value left out."""

    items: Sequence[tuple[str, Any]]
    title: str = ""

    def pairs(self) -> list[tuple[str, str]]:
        """The names and values as safe text."""
        texts = ((name, visible(value) if isinstance(value, str) else cell(value)) for name, value in self.items)
        return [(name, text) for name, text in texts if text]


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text as they are."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, and the style in which a terminal shows it."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are laid out already."""

    lines: Sequence[Line]
    title: str = ""


Block: TypeAlias = Table | Fields | Text | Lines


def cell(value: Any) -> str:
    """A value as people read it, on one line.

    >>> [cell(one) for one in (None, True, ("a", "b"), 1.0)]
    ['', 'yes', 'a, b', '1']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return visible_line(", ".join(str(item) for item in value))
    return visible_line(str(value))


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a command's result goes: standard output; hints and what went wrong go to standard error."""

    format: OutputFormat = OutputFormat.TABLE
    _fancy: bool = field(default_factory=lambda: sys.stdout.isatty())  # noqa: PLW0108 -- tests change what stdout is

    @property
    def is_json(self) -> bool:
        """Whether a program reads what is shown."""
        return self.format is OutputFormat.JSON

    def show(self, document: Any, *blocks: Block) -> None:
        """Show `document` to programs, or `blocks` to people."""
        if self.is_json:
            typer.echo(to_json(document))
            return
        if self._fancy:
            # Rich is slow to load: only people at a terminal pay for it.
            from interlock_gateway.cli.rich_screen import render  # noqa: PLC0415 -- as said above

            render(blocks)
            return
        typer.echo("\n\n".join(_plain(block) for block in blocks))

    def line(self, document: Any, text: str, style: str = "") -> None:
        """Show one event of a stream: a line of JSON, or a text, in `style` when it is a terminal that shows it."""
        if self.is_json:
            typer.echo(to_json(document, indent=None))
        elif style and self._fancy:
            from interlock_gateway.cli.rich_screen import render_line  # noqa: PLC0415 -- slow to load, as above

            render_line(text, style)
        else:
            typer.echo(visible(text))

    def hint(self, text: str) -> None:
        """Say what to do next; only to people."""
        if not self.is_json:
            typer.echo(visible(text), err=True)


def complain(message: str) -> None:
    """Say what went wrong, on standard error."""
    first, *more = message.splitlines() or [""]
    typer.echo(visible("\n".join((f"interlock: {first}", *(f"           {line}" for line in more)))), err=True)


def _plain(block: Block) -> str:
    title = [f"{visible_line(block.title)}:"] if block.title else []
    match block:
        case Table():
            lines = (
                _columns([[name.upper() for name in block.columns], *block.cells()]) if block.rows else [block.empty]
            )
        case Fields():
            pairs = block.pairs()
            width = max((len(name) for name, _ in pairs), default=0) + 2
            indent = "\n" + " " * width
            lines = [f"{name + ':':{width}}{text.replace(chr(10), indent)}" for name, text in pairs]
        case Text():
            lines = [visible(block.text)]
        case Lines():
            lines = [visible_line(line.text) for line in block.lines]
    return "\n".join((*title, *lines))


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
