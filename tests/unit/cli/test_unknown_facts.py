"""What is not known of a call: the word, the variable or the command that makes it so is named."""

from typing import Any

import pytest
from interlock_gateway.cli.unknown_facts import touched, unknowns
from interlock_gateway.facts import FactRequest, extract

pytestmark = pytest.mark.req("LIFE-2")

ARGUMENTS = {"bash": "command", "sql": "sql", "file": "path", "webfetch": "url"}


def document(text: str, kind: str = "bash") -> dict[str, Any]:
    """A policy input with nothing but this call's input and facts."""
    given = {ARGUMENTS[kind]: text}
    facts = extract(
        FactRequest(
            permission_class=kind,
            tool="tool",
            input=given,
            input_schema={},
            argument_names={},
            workdir="/work",
            roots=("/work",),
            within=("/work",),
        )
    )
    return {"call": {"input": given, "facts": facts}}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("$X -rf /", "the program of `$X -rf /`: $X"),
        ("$(echo rm) -rf /", "the program of `$(echo rm) -rf /`: $(echo rm)"),
        ("Y=rm; $Y -rf x", "the program of `$Y -rf x`: $Y (Y is set to rm)"),
        ("X=$(cat y); $X", "the program of `$X`: $X (X is set to what is not known either)"),
        ('cp a.txt "$DEST"', '"$DEST" in `cp a.txt "$DEST"`'),
        ("echo hi > $OUT", "$OUT in `echo hi > $OUT`"),
        ('python3 -c "$CODE"', '"$CODE" in `python3 -c "$CODE"`'),
        ("timeout 5 $X y", "$X in `timeout 5 $X y`"),
        ('eval "$f"', '`eval "$f"` runs a script that is only known at run time: "$f"'),
        ("sh <<E\n$X\nE", "`sh <<E` runs a script that is only known at run time"),
        ("find . | xargs rm", "which files `xargs rm` is given: those that find finds"),
        ("cat list | xargs rm", "what `xargs rm` runs: xargs makes it up at run time"),
        ("alias ls=rm; ls", "`alias ls=rm` gives a command another meaning"),
        ("PATH=/x ls", "PATH is set, which decides which programs names stand for"),
        ("LD_PRELOAD=x ls", "LD_PRELOAD is set, which decides what programs load or run besides"),
        ("ls \u200b", "what nobody sees is in it: U+200B ZERO WIDTH SPACE"),
        ("if then (", "it is not understood: line 1: the script ends too early"),
    ],
)
def test_what_makes_a_script_unknown_is_named(script: str, said: str) -> None:
    assert said in unknowns(document(script))


def test_a_place_behind_an_unknown_directory_is_named_with_the_command_that_leads_there() -> None:
    said = unknowns(document('cd "$D" && cat x > y'))
    assert said == (
        '"$D" in `cd "$D"`',
        'where y leads, which is written: the directory is not known after `cd "$D"`',
    )


@pytest.mark.parametrize("script", ["ls -la", "Y=rm; ls", "make test && git status", "FOO=1 pytest"])
def test_of_a_script_that_is_written_out_nothing_is_unknown(script: str) -> None:
    assert unknowns(document(script)) == ()


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("sql", "EXECUTE stmt1", "what `EXECUTE stmt1` runs: it is written elsewhere, or made when it runs"),
        ("sql", "SELEC 1", "it is not understood: a statement that begins with 'SELEC' is not known"),
        ("file", "~bob/x", "where ~bob/x leads: starts with ~, which a tool may expand"),
        ("webfetch", "example.com/x", "where example.com/x leads: "),
    ],
)
def test_other_classes_name_what_they_do_not_know(kind: str, text: str, said: str) -> None:
    assert any(one.startswith(said) for one in unknowns(document(text, kind)))


def test_facts_that_are_missing_say_why() -> None:
    assert unknowns({"call": {"facts": {"class": "sql", "extracted": False, "error": "no SQL"}}}) == ("no SQL",)
    assert unknowns({}) == ()


def test_the_files_of_a_script_are_named() -> None:
    assert touched(document("cat /etc/hosts > y 2>/dev/null")) == (
        "it writes y",
        "it names /etc/hosts, outside the workspace",
    )
    assert touched(document("ls")) == ()
