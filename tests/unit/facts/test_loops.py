"""What the variable of a `for` stands for, where that is certain, and where it is not."""

import random
import subprocess
from pathlib import Path

import pytest
from facts_calls import Bash

pytestmark = pytest.mark.req("PIPE-5")

CERTAIN = [
    ("for f in a b; do zap $f; done", [["zap", "a"], ["zap", "b"]]),
    ('for f in a b; do zap "${f}.txt" -f; done', [["zap", "a.txt", "-f"], ["zap", "b.txt", "-f"]]),
    ("for f in a; do zap $f | zip x; done; zop", [["zap", "a"], ["zip", "x"], ["zop"]]),
    ("for d in a b; do for n in 1 2; do zap $d/$n; done; done", [["zap", f"{d}/{n}"] for d in "ab" for n in "12"]),
    ("for f in a; do zap $(zip $f); done", [["zip", "a"], ["zap", None]]),
    ('for f in a; do zap "$(zip "$f")"; done', [["zip", "a"], ["zap", None]]),
    ('for f in src/*.py; do zap "$f"; done', [["zap", "src/*.py"]]),
    ("for c in zap zip; do $c x; done", [["zap", "x"], ["zip", "x"]]),
    ("for o in -rf; do zap $o; done", [["zap", "-rf"]]),
    ('for f in a; do [ -f "$f" ] && zap $f; done', [["[", "-f", "a", "]"], ["zap", "a"]]),
    ("for f in a; do eval_ $f; done", [["eval_", "a"]]),
]
UNCERTAIN = [
    "for f in a b; do f=x; zap $f; done",
    "for f in a b; do f+=x; zap $f; done",
    "for f in a b; do read f; zap $f; done",
    "for f in a b; do re''ad f; zap $f; done",
    "for f in a b; do printf -vf x; zap $f; done",
    "for f in a b; do wait -pf; zap $f; done",
    "for f in a b; do zap ${f:-x}; done",
    "for f in a b; do zap ${f%x}; done",
    "for f in a b; do : ${f:=x}; zap $f; done",
    "for f in a b; do ((f++)); zap $f; done",
    "for f in a b; do : $((f++)); zap $f; done",
    "for f in a b; do : $[f++]; zap $f; done",
    "for f in a b; do [[ f -eq 1 ]]; zap $f; done",
    "for f in a b; do eval 'f''=x'; zap $f; done",
    "for f in a b; do eval $'\\x66=x'; zap $f; done",
    "for f in a b; do declare f=x; zap $f; done",
    "for f in a b; do . ./x; zap $f; done",
    "for f in a b; do source x; zap $f; done",
    "g() { f=x; }; for f in a b; do g; zap $f; done",
    "for f in a b; do trap 'f=x' DEBUG; zap $f; done",
    "for f in a; do for f in x; do zap $f; done; done",
    "for f in a b; do :; done; zap $f",
    "zap $f; for f in a b; do :; done",
    "for f in a $x; do zap $f; done",
    "for f in $(ls); do zap $f; done",
    "for f in {a,b}; do zap $f; done",
    "for f in ~/a; do zap $f; done",
    "for f in 'a b'; do zap $f; done",
    "for f in '*'; do zap $f; done",
    "for f in *.py; do zap $f; done",
    'for f in *.py; do zap "x$f"; done',
    "for f; do zap $f; done",
    "select f in a b; do zap $f; done",
    "for F in a; do zap $F; done",
    "for f in a; do : ${HOME:f=5}; zap $f; done",
    "for f in a; do command . ./x; zap $f; done",
    "for f in a; do printf '-vf' x; zap $f; done",
    "for f in a; do for g in b; do for h in c; do zap $f $g $h; done; done; done",
    "for f in " + "a " * 17 + "; do zap $f; done",
]


@pytest.mark.parametrize(("script", "commands"), CERTAIN)
def test_each_word_of_a_loop_is_seen(bash: Bash, script: str, commands: list[list[str | None]]) -> None:
    facts = bash(script)
    assert facts["parse_error"] is False
    assert sorted((command["argv"] for command in facts["commands"]), key=str) == sorted(commands, key=str)


@pytest.mark.parametrize("script", UNCERTAIN)
def test_what_may_be_anything_else_is_said_to_be(bash: Bash, script: str) -> None:
    facts = bash(script)
    assert facts["open"] is True
    zapped = [command["argv"] for command in facts["commands"] if command["name"] == "zap"]
    assert zapped
    assert all(None in argv for argv in zapped)


def test_a_loop_s_variable_is_told_from_others(bash: Bash) -> None:
    facts = bash("X=1; for f in a; do zap; done")
    assert sorted(facts["assignments"], key=str) == [
        {"name": "X", "value": "1", "loop": False},
        {"name": "f", "value": None, "loop": True},
    ]
    assert bash("for PATH in a; do zap; done")["hazards"] == ["path"]


def test_what_is_evaluated_is_a_hazard(bash: Bash) -> None:
    for script in (
        "((x))",
        ": $((x=1))",
        ": $[x]",
        ": ${a:x}",
        ": ${a[x]}",
        "for ((x=0;;)); do :; done",
        "[[ $x -eq 1 ]]",
    ):
        assert "nested_evaluation" in bash(script)["hazards"], script
    for script in (
        "((1 + 2))",
        ": $((3*4))",
        ": ${a:1}",
        ": ${a:1:2}",
        ": ${a:-x}",
        ": ${a[0]}",
        "[[ 1 -eq 2 ]]",
        '[[ "$?" -eq 0 ]]',
        "[[ -f x ]]",
    ):
        assert bash(script)["hazards"] == [], script


def test_what_an_expansion_assigns_is_an_assignment(bash: Bash) -> None:
    for script in (
        "for i in ${PATH:=x}; do :; done",
        "case ${PATH=x} in y) ;; esac",
        "[[ ${PATH:=x} ]]",
        ": {PATH}</dev/null",
    ):
        facts = bash(script)
        assert "PATH" in {one["name"] for one in facts["assignments"]}, script
        assert facts["hazards"] == ["path"], script
    assert "PATH" in {one["name"] for one in bash(": <<E\n${PATH:=x}\nE\n")["assignments"]}
    for script in (": ${BASH_CMDS[cat]:=rm}", ": {BASH_CMDS[cat]}</dev/null"):
        assert "indirect" in bash(script)["hazards"], script


def test_a_loop_that_asks_is_none(bash: Bash) -> None:
    assert [one["loop"] for one in bash("select f in a b; do zap; done")["assignments"]] == [False]


def test_loops_and_pipelines_without_end_are_read_in_time(bash: Bash) -> None:
    # Each of them took many seconds when every loop or pipe had all of the script looked through.
    bash("".join(f"for i{k} in a;do $i{k};done\n" for k in range(2200)))
    bash("for i in a;do $i;done\n" * 2900)
    bash("for i in a;do $i;done #" + "printf " * 9000)
    bash("true" + "|xargs" * 1900)


def test_loops_cost_no_more_than_a_script_may(bash: Bash) -> None:
    inner = "zap $n; " * 200
    script = f"for f in {'a ' * 16}; do for n in {'b ' * 16}; do {inner} done; done"
    assert bash(script)["parse_error"] is True


VALUES = ("a", "b/c", "-x", "a=b", "x,y", "'q r'", '"s"', "*", "n*", "$g", "~", "''", "{1,2}")
USES = ("$f", '"$f"', "${f}", "x$f", '"$f/y"', "'$f'", "${f}.t", '"${f}"', "-f", "$g", "$(echo $f)")
TRICKS = (
    *("f=z", "g=z", "read f <<<z", "printf -v f z", 'printf "-vf" z', ": ${f:=z}", "((f=3))", "eval f=z", "unset f"),
    *("declare f=z", "g=f; read $g <<<z", "shift", "for f in p; do :; done", "cd .", "true || f=z", "(f=z)", "f=z :"),
    *("wait -pf", "IFS=/", "set -- z", "mapfile f <<<z", "let f=4", ": $((f=5))", "[[ f -eq 1 ]]", "test -v f"),
)


def loop(chance: random.Random) -> str:
    words = " ".join(chance.choices(VALUES, k=chance.randint(1, 3)))
    body = [f"zap {' '.join(chance.choices(USES, k=chance.randint(1, 2)))}" for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.4:
        body.insert(chance.randint(0, len(body)), chance.choice(TRICKS))
    if chance.random() < 0.2:
        body.append(f"for g in {chance.choice(VALUES)} k; do zap $f $g; done")
    script = f"for f in {words}; do {'; '.join(body)}; done"
    return script + ("; zap $f" if chance.random() < 0.2 else "")


def test_bash_runs_loops_with_no_other_words(bash: Bash, tmp_path: Path) -> None:
    zap = tmp_path / "bin" / "zap"
    zap.parent.mkdir()
    zap.write_text(f"""#!/bin/sh\nprintf '%s\\036' "$@" >> {tmp_path}/log\nprintf '\\n' >> {tmp_path}/log\n""")
    zap.chmod(0o755)
    chance, compared = random.Random(8), 0
    for _ in range(600):
        script = loop(chance)
        facts = bash(script)
        # What is written as a pattern stands for names; here there are none.
        if facts["open"] or facts["parse_error"] or any(command["glob"] for command in facts["commands"]):
            continue
        compared += 1
        (tmp_path / "log").write_text("")
        subprocess.run(
            ["bash", "-c", script], cwd=zap.parent, env={"PATH": f"{zap.parent}:/bin:/usr/bin"}, check=False, timeout=20
        )
        ran = {tuple(line.split("\x1e")[:-1]) for line in (tmp_path / "log").read_text().split("\n") if line}
        assert ran <= {tuple(command["argv"][1:]) for command in facts["commands"]}, script
    assert compared > 50
