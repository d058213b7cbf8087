"""What stands on a command line becomes the input of a call."""

from pathlib import Path

import pytest
import typer
from interlock_gateway.cli.call_input import read_input, read_object

TYPED = {"number": 7, "flag": True, "list": ["a"], "text": "x"}


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], {}),
        (["path=a.txt"], {"path": "a.txt"}),
        (["command=a=b c", "empty="], {"command": "a=b c", "empty": ""}),
        (["number=7", "flag=true"], {"number": "7", "flag": "true"}),
        (["number:=7", "flag:=true", 'list:=["a"]', 'text:="x"'], TYPED),
        (['{"a": 1, "a": 2}'], '{"a": 1, "a": 2}'),
    ],
)  # fmt: skip
def test_words_become_an_input(words: list[str], asked: object) -> None:
    assert read_input(words) == asked


def test_a_value_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("line\n")
    assert read_input([f"content=@{tmp_path}/text"]) == {"content": "line\n"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["path"], "path is neither key=text, key:=JSON, a JSON object nor -"),
        (["=x"], "=x is neither"),
        ([":=1"], ":=1 is neither"),
        (["a=1", "a=2"], "a is given twice"),
        (["a:=nope"], "the value of a is not JSON"),
        (["a=@/does/not/exist"], "/does/not/exist cannot be read"),
        (["-", "a=1"], "- is neither"),
    ],
)
def test_words_that_are_no_input_are_named(words: list[str], said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        read_input(words)


def test_an_object_is_an_object(tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text('{"a": 1}')
    assert read_object(f"@{tmp_path}/o.json", "x") == {"a": 1}
    with pytest.raises(typer.BadParameter, match="x must be a JSON object"):
        read_object("[]", "x")
    with pytest.raises(typer.BadParameter, match="x is not JSON"):
        read_object("{", "x")
