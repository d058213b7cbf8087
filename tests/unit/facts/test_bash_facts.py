"""What the facts say of each command: its words, what it reads and writes, what feeds it, what it interprets."""

from pathlib import Path
from typing import Any

import pytest
from facts_calls import Bash, Facts, command, names_of

pytestmark = pytest.mark.req("PIPE-5")


def test_words_are_given_after_quote_removal_and_null_where_they_are_not_literal(bash: Bash) -> None:
    document = bash("zap 'a b' \"c\"d\\ e $'f\\tg' \"$x\" $(zip)y '' *.c")
    found = command(document, "zap")
    assert found["argv"] == ["zap", "a b", "cd e", "f\tg", None, None, "", "*.c"]
    assert (found["dynamic"], found["dynamic_name"], found["dynamic_args"], found["glob"]) == (True, False, True, True)
    assert document["dynamic_name"] is False


def test_a_name_that_only_the_run_can_tell_is_null_and_its_words_are_kept(bash: Bash) -> None:
    document = bash("$x -rf /")
    assert document["dynamic_name"] is True
    assert document["commands"][0]["argv"] == [None, "-rf", "/"]
    assert document["commands"][0]["text"] == "$x -rf /"


def test_options_are_told_from_operands_however_they_are_written(bash: Bash) -> None:
    first, second, third = bash("rm -rf x; rm -r --force=yes x -f -- -y; rm x -")["commands"]
    assert set(first["flags"]) == {"-r", "-f", "-rf"}
    assert set(second["flags"]) == {"-r", "--force", "-f"}
    assert second["operands"] == ["x", "-y"]
    assert third["operands"] == ["x", "-"]


@pytest.mark.parametrize(
    ("script", "subcommand"),
    [
        ("git push -f", "push"),
        ("git -C dir -c a=b --git-dir x --no-pager push", "push"),
        ("git --git-dir=x push", "push"),
        ("git $x", None),
        ("git", None),
        ("docker -H h run x", "run"),
        ("npm --prefix x install", "install"),
        ("ls push", None),
    ],
)
def test_the_subcommand_is_found_behind_global_options(bash: Bash, script: str, subcommand: str | None) -> None:
    assert bash(script)["commands"][0]["subcommand"] == subcommand


def test_wrappers_are_listed_from_the_outside_in(bash: Bash) -> None:
    document = bash("sudo -u root env A=1 B=$x bash -c 'zap' | zip")
    assert command(document, "zap")["wrappers"] == ["sudo", "env", "bash"]
    assert command(document, "bash")["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": None}]
    assert command(document, "zip")["wrappers"] == []


def test_assignments_are_listed_wherever_they_are_made(bash: Bash) -> None:
    document = bash("A=1 zap; B=$x; export C='d e'; for F in 1; do :; done; env G=h zip")
    assert [(item["name"], item["value"]) for item in document["assignments"]] == [
        ("F", None),
        ("A", "1"),
        ("B", None),
        ("C", "d e"),
        ("G", "h"),
    ]
    assert command(document, "zap")["env"] == [{"name": "A", "value": "1"}]


@pytest.mark.parametrize(
    ("script", "hazards"),
    [
        ("alias ls='rm -rf /'", {"alias", "dynamic_script"}),
        ("BASH_ALIASES[ls]=rm", {"alias"}),
        ("IFS=x", {"ifs"}),
        ("export PATH=/x", {"path"}),
        ("CDPATH=/x", {"cdpath"}),
        ("LD_PRELOAD=x zap", {"loader"}),
        ("PYTHONPATH=src zap", set()),
        ("PYTHONPATH=.:./src/my-lib:tests/ zap", set()),
        *(
            (f"PYTHONPATH={value} zap", {"loader"})
            for value in ("/tmp", "../x", "src:/tmp", "~/x", "a/../..", "$x", "")
        ),
        ("env BASH_ENV=x zap", {"loader"}),
        ("declare PROMPT_COMMAND=zap", {"loader"}),
        ("GIT_SSH_COMMAND='zap x' git fetch", {"loader"}),
        ("echo $'a\\'; zap #'", {"dialect"}),
        ('bash -c "zap $x"', {"dynamic_script"}),
        ("echo ${x@P}", {"prompt_expansion"}),
        ("let 'x[$(zap)]'", {"nested_evaluation"}),
        ("unset 'x[$(zap)]'", {"nested_evaluation"}),
        ("hash -p /x ls", {"indirect"}),
        ("mapfile -C zap -c 1 x", {"indirect"}),
        ("zap \u200b", {"invisible_characters"}),
        ("zap 'a \x1b[2K'", {"invisible_characters"}),
        ("zap; git commit -m 'about PATH=x and IFS'", set()),
    ],
)
def test_what_changes_the_meaning_of_words_is_named(bash: Bash, script: str, hazards: set[str]) -> None:
    document = bash(script)
    assert set(document["hazards"]) == hazards
    assert document["dynamic"] is bool(hazards)


def test_functions_and_aliases_are_listed(bash: Bash) -> None:
    document = bash("ls() { zap; }; function cat { zip; }; alias git='zop' g=x")
    assert (document["functions"], document["aliases"]) == (["ls", "cat"], ["git", "g"])


@pytest.mark.parametrize(
    "script", ["[[ a ]]", "((1))", "a=(b)", "zap <(zip)", "zap <<< x", "zap &> x", "zap |& zip", "function f { :; }"]
)
def test_a_script_that_only_bash_reads_this_way_says_so(bash: Bash, script: str) -> None:
    assert bash(script)["bash_only"] is True
    assert bash("zap $(zip) `zop` ${x} <<E | x; [ a ] && { y; }\nE")["bash_only"] is False


def test_a_pipeline_shows_what_feeds_what(bash: Bash) -> None:
    document = bash("curl x | tee y | sudo bash; (a | b; c) | while d; do sh; done")
    assert document["pipelines"][0]["stages"] == [["curl"], ["tee"], ["sudo", "bash"]]
    assert {"stages": [["a", "b", "c"], ["d", "sh"]]} in document["pipelines"]
    assert {"stages": [["a"], ["b"]]} in document["pipelines"]
    fed = command(document, "bash")
    assert (fed["pipeline"], fed["stage"], fed["stdin"], fed["stdin_script"]) == (0, 2, "pipe", True)
    assert command(document, "sh")["stdin"] == "pipe"
    assert command(bash("zap"), "zap")["pipeline"] is None


def test_a_pipeline_of_substitutions_lists_them_in_their_stage(bash: Bash) -> None:
    assert bash("echo $(curl x) | sh")["pipelines"] == [{"stages": [["echo", "curl"], ["sh"]]}]


@pytest.mark.parametrize(
    ("script", "name", "stdin", "stdin_script"),
    [
        ("curl x | bash", "bash", "pipe", True),
        ("curl x | bash -s -- y", "bash", "pipe", True),
        ("curl x | bash -", "bash", "pipe", True),
        ("curl x | bash /dev/stdin", "bash", "pipe", True),
        ("curl x | bash y", "bash", "pipe", False),
        ("curl x | bash -c y", "bash", "pipe", False),
        ("curl x | { cat; bash; }", "bash", "pipe", True),
        ("curl x | python3", "python3", "pipe", True),
        ("curl x | python3 -", "python3", "pipe", True),
        ("curl x | python3 y.py", "python3", "pipe", False),
        ("curl x | sudo -i", "sudo", "pipe", True),
        ("curl x | sudo -u y sh", "sh", "pipe", True),
        ("curl x | ssh host", "ssh", "pipe", True),
        ("curl x | source /dev/stdin", "source", "pipe", True),
        ("curl x | . /dev/fd/0", ".", "pipe", True),
        ("curl x | at now", "at", "pipe", True),
        ("curl x | crontab -", "crontab", "pipe", True),
        ("curl x > >(bash)", "bash", "pipe", True),
        ("bash < x", "bash", "redirect", True),
        ("{ bash; } < x", "bash", "redirect", True),
        ("bash 3< x", "bash", "inherited", True),
        ("bash <<< x", "bash", "text", True),
        ("bash <<E\nx\nE", "bash", "text", True),
        ("curl x | cat", "cat", "pipe", False),
    ],
)
def test_a_program_that_takes_code_from_its_input_says_so(
    bash: Bash, script: str, name: str, stdin: str, *, stdin_script: bool
) -> None:
    found = command(bash(script), name)
    assert (found["stdin"], found["stdin_script"]) == (stdin, stdin_script)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("bash x.sh a", ("shell", "file", "x.sh")),
        ("bash -x ./x.sh", ("shell", "file", "./x.sh")),
        ("source x.sh", ("shell", "file", "x.sh")),
        ("bash <(curl x)", ("shell", "file", None)),
        ("source <(curl x)", ("shell", "file", None)),
        ("bash -c zap", ("shell", "argument", None)),
        ("bash $x", ("shell", "unknown", None)),
        ("python3 -c 'x' y", ("python", "argument", None)),
        ("python3.12 -Ic 'x'", ("python", "argument", None)),
        ("python -W ignore x.py", ("python", "file", "x.py")),
        ("perl -lane 'x' y", ("perl", "argument", None)),
        ("perl x.pl", ("perl", "file", "x.pl")),
        ("ruby -rx -e y", ("ruby", "argument", None)),
        ("node --eval x", ("node", "argument", None)),
        ("node x.js", ("node", "file", "x.js")),
        ("php -r x", ("php", "argument", None)),
        ("awk '{x}' y", ("awk", "argument", None)),
        ("gawk -f x.awk y", ("awk", "file", "x.awk")),
        ("sed -n -e x y", ("sed", "argument", None)),
        ("pwsh -Command x", ("pwsh", "argument", None)),
        ("deno eval x", ("deno", "argument", None)),
    ],
)
def test_code_in_another_language_is_said_to_be_there(bash: Bash, script: str, expected: tuple[Any, ...]) -> None:
    interprets = bash(script)["commands"][0]["interprets"]
    assert (interprets["language"], interprets["source"], interprets["script"]) == expected


def test_a_command_that_interprets_nothing_says_null(bash: Bash) -> None:
    assert bash("ls")["commands"][0]["interprets"] is None


def test_what_find_deletes_is_listed_as_an_implied_removal(bash: Bash) -> None:
    found = command(bash("find . -name x -delete"), "rm")
    assert (found["implied"], found["wrappers"], found["dynamic_args"]) == (True, ["find"], True)


@pytest.mark.parametrize(
    ("script", "moved"),
    [
        ("env -C x zap", True),
        ("sudo -D x zap", True),
        ("sudo -i zap", True),
        ("chroot x zap", True),
        ("ssh x zap", True),
        ("find . -execdir zap \\;", True),
        ("find . -exec zap \\;", False),
        ("sudo zap", False),
    ],
)
def test_a_command_that_runs_elsewhere_says_so(bash: Bash, script: str, *, moved: bool) -> None:
    assert command(bash(script), "zap")["moved"] is moved


def test_a_command_given_as_a_list_of_words_is_one_command(facts: Facts) -> None:
    document = facts("bash", {"command": ["bash", "-lc", "zap; zip $x", "$y"]})["bash"]
    assert names_of(document) == "bash zap zip"
    assert document["commands"][0]["argv"] == ["bash", "-lc", "zap; zip $x", "$y"]


def test_a_list_called_commands_holds_scripts(facts: Facts) -> None:
    document = facts("bash", {"commands": ["zap; zip", "zop"]})["bash"]
    assert names_of(document) == "zap zip zop"


@pytest.mark.parametrize(
    "given", [{}, {"command": 3}, {"command": {"x": 1}}, {"command": [1]}, {"command": None}, {"text": "zap"}]
)
def test_a_command_that_is_not_there_or_no_text_is_not_extracted(facts: Facts, given: dict[str, object]) -> None:
    document = facts("bash", given)
    assert document["extracted"] is False
    assert "command" in document["error"]


def test_long_texts_are_cut_where_they_are_only_shown(bash: Bash) -> None:
    document = bash("zap " + "x" * 5000)
    assert len(document["commands"][0]["text"]) == 240
    assert len(document["commands"][0]["argv"][1]) == 5000


def test_the_script_starts_in_the_directory_its_own_argument_names(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    given = {"command": "cat ../x", "cwd": "in"}
    document = facts("bash", given, roots=(str(tmp_path),))["bash"]
    assert document["paths"][0]["normalised"] == f"{tmp_path}/x"
    outside = facts("bash", {"command": "cat ./x", "cwd": "/"}, roots=(str(tmp_path),))["bash"]
    assert outside["paths"][0]["location"] == "outside"
    assert outside["directory"]["inside"] is False
    assert facts("bash", {"command": "cat ./x", "cwd": 3}, roots=(str(tmp_path),))["extracted"] is False
