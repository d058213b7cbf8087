"""Tables for people at a terminal. Texts are put in as texts, never as markup."""

from collections.abc import Sequence

import rich.box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from interlock_gateway.cli.screen import Block, Fields, Lines, Table, Text
from interlock_gateway.core.visible import visible, visible_line


def render(blocks: Sequence[Block], console: Console | None = None) -> None:
    """Print the blocks, a blank line between them."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    for part in renderables(blocks):
        console.print(part, soft_wrap=isinstance(part, RichText))


def renderables(blocks: Sequence[Block]) -> list[RichText | RichTable]:
    """The blocks as Rich shows them, a blank line between them."""
    parts: list[RichText | RichTable] = []
    for block in blocks:
        if parts:
            parts.append(RichText(""))
        if block.title:
            parts.append(RichText(visible_line(block.title), style="bold"))
        match block:
            case Table() if not block.rows:
                parts.append(RichText(block.empty, style="dim"))
            case Table():
                parts.append(_table(block))
            case Fields():
                parts.append(_fields(block))
            case Text():
                parts.append(RichText(visible(block.text)))
            case Lines():
                parts += (RichText(visible_line(line.text), style=line.style) for line in block.lines)
    return parts


def render_line(text: str, style: str, console: Console | None = None) -> None:
    """Print one text in a style."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    console.print(RichText(visible(text), style=style), soft_wrap=True)


def _table(block: Table) -> RichTable:
    made = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in block.columns:
        made.add_column(RichText(name), overflow="fold")
    for row in block.cells():
        made.add_row(*(RichText(text) for text in row))
    return made


def _fields(block: Fields) -> RichTable:
    made = RichTable(box=None, show_header=False, pad_edge=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, text in block.pairs():
        made.add_row(RichText(name), RichText(text))
    return made
