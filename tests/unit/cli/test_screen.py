"""Tables for people: plain where no terminal is, with rich where one is, and safe in both."""

import io

import pytest
from interlock_gateway.cli.rich_screen import render
from interlock_gateway.cli.screen import Block, Fields, OutputFormat, Screen, Table, Text, complain
from rich.console import Console

BLOCKS: list[Block] = [
    Fields((("name", "a"), ("none", None), ("empty", ""), ("sure", True), ("lines", "one\ntwo"))),
    Table(("tool", "calls"), [("read", 3), ("e\x1b[31mvil\nline", 1.0)], title="calls"),
    Table(("tool",), [], empty="nothing here"),
    Text("free [bold]text[/bold] \x1b[0m"),
]


def plain(capsys: pytest.CaptureFixture[str], *blocks: Block) -> str:
    Screen(OutputFormat.TABLE, _fancy=False).show({}, *blocks)
    return capsys.readouterr().out


def fancy(*blocks: Block) -> str:
    out = io.StringIO()
    render(blocks, Console(file=out, force_terminal=True, width=100, highlight=False, markup=False, emoji=False))
    return out.getvalue()


def test_plain_tables_are_aligned_and_their_cells_stay_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain(capsys, *BLOCKS) == (
        "name:  a\n"
        "sure:  yes\n"
        "lines: one\n"
        "       two\n"
        "\n"
        "calls:\n"
        "TOOL                         CALLS\n"
        "read                         3\n"
        "e<U+001B>[31mvil<U+000A>line  1\n"
        "\n"
        "nothing here\n"
        "\n"
        "free [bold]text[/bold] <U+001B>[0m\n"
    ).replace("TOOL                         ", f"{'TOOL':28}  ").replace(
        "read                         ", f"{'read':28}  "
    )


@pytest.mark.req("CHK-10")
def test_at_a_terminal_texts_are_texts_and_never_markup_or_escapes() -> None:
    shown = fancy(*BLOCKS)
    assert "e<U+001B>[31mvil<U+000A>line" in shown
    assert "free [bold]text[/bold] <U+001B>[0m" in shown
    assert "\x1b[31m" not in shown
    assert "nothing here" in shown


def test_programs_get_the_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(OutputFormat.JSON, _fancy=True)
    screen.show({"a": 1}, *BLOCKS)
    screen.hint("for people only")
    assert capsys.readouterr() == ('{\n  "a": 1\n}\n', "")


def test_a_stream_is_one_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(OutputFormat.JSON).line({"a": "b\nc"}, "")
    Screen(OutputFormat.TABLE).line({}, "text \x1b")
    assert capsys.readouterr().out == '{"a": "b\\nc"}\ntext <U+001B>\n'


def test_what_went_wrong_is_said_on_standard_error_and_safely(capsys: pytest.CaptureFixture[str]) -> None:
    complain("first \x1b\nsecond")
    assert capsys.readouterr() == ("", "interlock: first <U+001B>\n           second\n")
