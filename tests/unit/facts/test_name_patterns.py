"""Patterns of names, as expressions and as files on the disk: they stand for at least what a shell takes."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from facts_calls import Bash, Facts
from interlock_gateway.facts import listing
from interlock_gateway.facts.listing import Listing, TooMuchError
from interlock_gateway.facts.patterns import EXPRESSIONS, alternatives, expressions, name_pattern, names_of

pytestmark = pytest.mark.req("PIPE-5")

NAMES = [
    *(
        "a",
        "b.py",
        "a-b",
        ".env",
        ".env.py",
        "id_rsa",
        "id[d]rsa",
        "*",
        "x*y",
        "cred",
        "credentials.json",
        "Ab",
        "z]",
        "[z",
    ),
    *("server.pem", "ab.c", "-f", "a b", "ä.py", "aaaaaaaaaaaaaaaaaaaaab"),
]
PATTERNS = [
    *(
        "*",
        "?",
        "*.py",
        "cred*",
        "id_rs?",
        "i[d]_rsa",
        "[!a]*",
        "[^a]*",
        "[a-c]*",
        "[]z]*",
        "*]",
        "[z*",
        "'*'*",
        '"["d]*',
    ),
    *(
        "\\**",
        "*[*",
        "?[a-z]?",
        "[[:alpha:]]d*",
        "*'['*",
        ".*",
        ".e*",
        "*.*",
        "[.]env",
        "a*a*a*a*b",
        "'id['d']'*",
        "ä*",
    ),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "names").mkdir()
    for name in NAMES:
        (tmp_path / "names" / name).touch()
    return tmp_path / "names"


def test_all_that_bash_finds_for_a_pattern_is_found(
    bash: Bash, program: Callable[[str], Path], directory: Path
) -> None:
    for pattern in PATTERNS:
        script = f"shopt -s nullglob; printf '%s\\n' {pattern}"
        run = subprocess.run([program("bash"), "-c", script], cwd=directory, capture_output=True, check=True, text=True)
        [path] = bash(f"cat {pattern}", roots=(str(directory),))["paths"]
        found = path["pattern"]
        assert set(run.stdout.split("\n")) - {""} <= set(found["matches"]), pattern
        for name in set(run.stdout.split("\n")) - {""}:
            lowered = name.lower()
            assert re.search(_python(found["name"]), lowered), (pattern, name)
            assert re.search(_python(found["begins"]), lowered[:3]), (pattern, name)
            assert re.search(_python(found["ends"]), lowered[-3:]), (pattern, name)


def _python(expression: str) -> str:
    return re.sub(r"\\x\{([0-9a-f]+)\}", lambda match: re.escape(chr(int(match[1], 16))), expression)


CAN = [
    ("cred*", "name", "credentials.json", True),
    ("cred*", "name", "id_rsa", False),
    ("*", "name", ".env", False),
    ("*.py", "begins", ".env.", False),
    (".e*", "begins", ".env.", True),
    (".env.?", "begins", ".env.", True),
    ("*.p?m", "ends", ".pem", True),
    ("x.k[d-f]y", "ends", ".key", True),
    ("*.pem.txt", "ends", ".pem", False),
    ("m", "ends", ".pem", False),
    (".s*/config", "directory", ".ssh", True),
    ("src/*.py", "directory", ".ssh", False),
    ("[a/b]", "directory", ".ssh", False),
]


@pytest.mark.parametrize(("pattern", "key", "text", "can"), CAN)
def test_expressions_say_what_a_pattern_can_stand_for(pattern: str, key: str, text: str, can: bool) -> None:
    expression = expressions(names_of(pattern))[key]
    assert isinstance(expression, str)
    assert bool(re.search(_python(expression), text)) is can


@pytest.mark.parametrize("text", [*NAMES, *PATTERNS, "{a,b}*", "$x", "a|b", "(x)+", "\\d", "İ*", "\u0000?", "😀*"])
def test_expressions_are_written_in_words_that_engines_read_alike(text: str) -> None:
    schema = {"properties": EXPRESSIONS, "required": list(EXPRESSIONS), "additionalProperties": False}
    assert jsonschema_rs.is_valid(schema, expressions(names_of(text)))


NOT_WRITTEN = ["", "a", "{a,b}", "(?m)^(?:a{a,b})$", "(?m)^(?:\\d)$", "(?m)^(?:a)$\n", "(?m)^(?:A)$"]


@pytest.mark.parametrize("text", NOT_WRITTEN)
def test_what_no_pattern_becomes_is_no_expression(text: str) -> None:
    assert not jsonschema_rs.is_valid({"properties": EXPRESSIONS}, {"name": text})


def test_where_a_tool_lets_a_wildcard_stand_for_a_dot_it_may() -> None:
    assert re.search(_python(f"(?m)^(?:{name_pattern('*nv', hidden=True).whole})$"), ".env")
    assert name_pattern("*nv", hidden=True).broad


def test_a_long_pattern_makes_no_deep_expression() -> None:
    pattern = name_pattern("a" * 250)
    assert max(pattern.begins.count("("), pattern.ends.count("(")) <= 41
    assert re.search(f"^{pattern.ends}$", "aa")


PLACES = [
    ("cp x e*/f", ["outside"], True),
    ("cp x e*", ["outside"], True),
    ("cp x s*/y", ["inside"], True),
    ("cp x new*/y", ["inside"], False),
    ("cp x */../y", ["unknown"], False),
    ("cp x **/y", ["outside"], True),
    ("cp x /etc/*.c", ["outside"], False),
    ("cat l*", ["inside"], True),
]


@pytest.mark.parametrize(("script", "locations", "known"), PLACES, ids=[script for script, _, _ in PLACES])
def test_a_pattern_leads_where_its_files_lead(
    bash: Bash, tmp_path: Path, script: str, locations: list[str], known: bool
) -> None:
    root = tmp_path / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "edir").symlink_to(tmp_path)
    (root / "link").symlink_to(root / ".env")
    paths = [path for path in bash(script, roots=(str(root),))["paths"] if path["glob"]]
    assert [path["location"] for path in paths] == locations
    assert [path["pattern"]["known"] for path in paths] == [known]
    if script == "cat l*":
        assert paths[0]["pattern"]["links"] == [f"{root}/.env"]


def test_where_nothing_is_seen_nothing_is_known(bash: Bash, tmp_path: Path) -> None:
    [path] = bash("cat src/*.py", roots=(f"{tmp_path}/nowhere",))["paths"]
    assert (path["location"], path["pattern"]["known"], path["pattern"]["matches"]) == ("inside", False, [])


def test_looking_is_bounded(bash: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / f"{number}.txt").touch()
    [path] = bash("cat *.txt", roots=(str(tmp_path),))["paths"]
    assert len(path["pattern"]["matches"]) == 30
    monkeypatch.setattr(listing, "MAX_MATCHES", 10)
    [path] = bash("cat *.txt", roots=(str(tmp_path),))["paths"]
    assert (path["location"], path["pattern"]["known"]) == ("unknown", False)
    for bounded in (Listing(entries_left=10), Listing(looks_left=10)):
        with pytest.raises(TooMuchError):
            bounded.matches(str(tmp_path), names_of("*"))
    paths = bash("cat " + "*.txt " * 900, roots=(str(tmp_path),))["paths"]
    assert not all(path["pattern"]["known"] for path in paths)
    assert sum(len(path["pattern"]["matches"]) for path in paths) <= 500


GLOBS: list[tuple[Any, list[str]]] = [
    ("*.py", ["*.py"]),
    ("{.env,x}", [".env", "x"]),
    ("a{b,c}{d,}", ["abd", "ab", "acd", "ac"]),
    (["x", "y{1,2}"], ["x", "y1", "y2"]),
    ("", []),
]


@pytest.mark.parametrize(("given", "shown"), GLOBS)
def test_patterns_of_file_tools_are_facts(facts: Facts, tmp_path: Path, given: object, shown: list[str]) -> None:
    document = facts("file", {"path": ".", "glob": given}, roots=(str(tmp_path),))
    assert document["extracted"] is True
    assert [pattern["given"] for pattern in document["file"]["patterns"]] == shown


def test_patterns_that_cannot_be_told_are_an_error(facts: Facts, tmp_path: Path) -> None:
    for given in ("{a,b}" * 10, "{" * 3 + ",", "{a,{b,c}"):
        document = facts("file", {"path": ".", "glob": given}, roots=(str(tmp_path),))
        assert document["extracted"] is False, given
    assert set(alternatives("{{a,b},c}") or ()) == {"a", "b", "c"}


def test_a_path_that_may_be_a_pattern_is_one(facts: Facts, tmp_path: Path) -> None:
    document = facts("file", {"path": "conf/cred*"}, roots=(str(tmp_path),))
    assert [pattern["given"] for pattern in document["file"]["patterns"]] == ["conf/cred*"]
    document = facts("file", {"path": "app/{a,{b"}, roots=(str(tmp_path),))
    assert (document["extracted"], document["file"]["patterns"]) == (True, [])
