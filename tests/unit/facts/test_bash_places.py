"""Which files a script names, and whether they lie in the workspace, as far as `cd` can be followed."""

from pathlib import Path

import pytest
from facts_calls import Bash

pytestmark = pytest.mark.req("PIPE-5")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "file").touch()
    (root / "out").symlink_to(tmp_path)
    (root / "secret").symlink_to("/etc/passwd")
    return root


WRITES = [
    ("zap > x", "inside"),
    ("zap >> sub/x", "inside"),
    ("zap 2>| ../x", "outside"),
    ("zap &> /etc/x", "outside"),
    ("zap >& /etc/x", "outside"),
    ("zap <> /etc/x", "outside"),
    ("> /etc/x", "outside"),
    ("{ zap; } > /etc/x", "outside"),
    ("zap > out/x", "outside"),
    ("zap > $x", "unknown"),
    ("zap > ~/x", "unknown"),
    ("zap > {a,b}", "unknown"),
    ("zap > /dev/null", "stream"),
    ("zap 2> /dev/stderr", "stream"),
    ("zap > /dev/fd/3", "stream"),
    ("zap > /dev/tcp/host/80", "network"),
    ("zap > /dev/sda", "outside"),
    ("bash -c 'zap > /etc/x'", "outside"),
    ("find . -fprint /etc/x", "outside"),
    ("env -C / zap > x", "inside"),
]


@pytest.mark.parametrize(("script", "location"), WRITES, ids=[script for script, _ in WRITES])
def test_what_is_opened_for_writing_is_located(bash: Bash, root: Path, script: str, location: str) -> None:
    [write] = bash(script, roots=(str(root),))["writes"]
    assert write["location"] == location
    assert write["inside"] is (location in {"inside", "stream"})
    assert write["dynamic"] is ("$" in script or "{a" in script)


@pytest.mark.parametrize(
    "script", ["zap < x", "zap 2>&1", "zap >&2", "zap 2>&-", "zap <&3", "zap <<< x", "zap <<E\nE", "zap >&3-"]
)
def test_what_opens_nothing_for_writing_is_no_write(bash: Bash, root: Path, script: str) -> None:
    assert bash(script, roots=(str(root),))["writes"] == []


PATHS = [
    ("cat file", ["inside"]),
    ("cat ./file sub/../file", ["inside", "inside"]),
    ("cat sub/deep/../../../x", ["outside"]),
    ("cat /etc/passwd", ["outside"]),
    ("cat secret", ["outside"]),
    ("cat out/x", ["outside"]),
    ("cat unheard-of", []),
    ("cat 'a b' -n x=y", []),
    ("cat ..", ["outside"]),
    ("cat ~/x", ["unknown"]),
    ("cat $x/y", ["unknown"]),
    ("cat *.c sub/*.c /etc/*.c ../*.c", ["inside", "inside", "outside", "outside"]),
    ("cat sub/*/../../..", ["unknown"]),
    ("cat --file=/etc/x -I../x if=/etc/y", ["outside", "outside", "outside"]),
    ("curl -d @/etc/x https://host/etc/y", ["outside"]),
    ("curl file:///etc/x", ["unknown"]),
    ("scp host:/etc/x ./y", ["inside"]),
    ("/etc/zap x", ["outside"]),
    ("./zap x", ["inside"]),
    ("bash x.sh", ["inside"]),
    ("python3 -c '/etc/x'", []),
    ("awk '/etc/ {x}' ./y", ["inside"]),
    ("cat < /etc/x", ["outside"]),
    # What a wrapper is given and what the wrapped command is given are both listed.
    ("ssh host cat ./x", ["inside", "unknown"]),
    ("xargs cat ./x", ["inside", "inside"]),
    ("diff <(cat ./x) ./y", ["stream", "inside", "inside"]),
]


@pytest.mark.parametrize(("script", "locations"), PATHS, ids=[script for script, _ in PATHS])
def test_words_that_look_like_paths_are_located(bash: Bash, root: Path, script: str, locations: list[str]) -> None:
    paths = bash(script, roots=(str(root),))["paths"]
    assert [path["location"] for path in paths] == locations


PARTS = [
    # What stands behind a separator may be a path.
    ("zap --set-file a=.env", [".env"]),
    ("zap -o go-template-file=.env", [".env"]),
    ("zap -o=jsonpath-file=/etc/passwd", ["jsonpath-file=/etc/passwd", "/etc/passwd"]),
    ("pytest --cov-report=xml:/tmp/x", ["/tmp/x"]),
    ("pytest --cov-report=xml:../x.xml", ["../x.xml"]),
    ("pytest --cov-report xml:/tmp/x", ["/tmp/x"]),
    ("mypy --html-report=build:/tmp/x", ["/tmp/x"]),
    ("golangci-lint run --out-format=json:/tmp/x", ["/tmp/x"]),
    ("go build -gcflags=-cpuprofile=/tmp/x .", ["-cpuprofile=/tmp/x", "/tmp/x", "."]),
    ("dotnet build -p:OutputPath=/tmp/x", [":OutputPath=/tmp/x", "/tmp/x"]),
    ("zap --to=type=local,dest=../x,more=y", ["type=local,dest=../x,more=y", "../x"]),
    ("zap --set a=file --x=b:sub", ["file", "sub"]),
    ("zap k=~x --y='xml:/tmp/a b'", ["~x", "/tmp/a b"]),
    # A file of arguments.
    ("strings @.env", [".env"]),
    ("strings @file", ["file"]),
    ("mypy @../x", ["../x"]),
    ("zap --args=@.env", [".env"]),
    # What git names: in a commit, in the index, by lines, by patterns with something before them.
    ("git log -L1,5:.env", [".env"]),
    ("git diff HEAD -- ':(top).env'", [".env"]),
    ("git show HEAD -- ':(icase).ENV'", [".ENV"]),
    ("git diff -- ':/.env'", [".env"]),
    ("git diff -- . ':!.env' ':^sub' ':(exclude,top).env'", ["."]),
    # No paths, or none outside.
    ("git log --format=%H --since=2024-01-01", []),
    ("git log --pretty=format:%h", []),
    ("cmake -DFOO=bar", []),
    ("zap host:8080 image:tag -p 80:80", []),
    ("git commit -m 'fix: see /etc/x, or http://x/y'", []),
    ("git commit -m 'fix(a): /users answers'", ["fix(a): /users answers"]),
    ("sed s/a/b/ file", ["file"]),
    ("sed -e s:/a:/b: file", ["file"]),
    ("tr :/ _", [":/"]),
    ("echo a:/b", []),
    ("zap http://localhost:8080/x?path=/etc --url=https://x/y:/z", []),
    ("git show HEAD:README.md HEAD:.env @{u} HEAD~1", []),
    ("docker run -v cache:/root x", []),
    ("npm view react@18", []),
]


@pytest.mark.parametrize(("script", "given"), PARTS, ids=[script for script, _ in PARTS])
def test_parts_of_words_that_may_be_paths_are_named(bash: Bash, root: Path, script: str, given: list[str]) -> None:
    paths = bash(script, roots=(str(root),))["paths"]
    assert [path["given"] for path in paths] == given


MOVES = [
    ("cd sub; cat ./x", "inside"),
    ("cd sub && cat ../x", "inside"),
    ("cd sub; cat ../x", "outside"),
    ("cd sub || cat ../x", "outside"),
    ("cd sub && zip && (cat ../x)", "inside"),
    ("cd sub && cd deep && cat ../../x", "inside"),
    ("cd sub && cat ../../x", "outside"),
    ("cd ..; cat ./x", "outside"),
    ("cd / && cat etc/x", "outside"),
    ("cd $x; cat ./x", "unknown"),
    ("cd; cat ./x", "unknown"),
    ("cd -; cat ./x", "unknown"),
    ("cd ~; cat ./x", "unknown"),
    ("pushd sub; cat ./x", "unknown"),
    ("for i in 1 2; do cat ./x; cd ..; done", "unknown"),
    ("f() { cd ..; }; f; cat ./x", "unknown"),
    ("cat ./x; trap 'cd ..' DEBUG", "unknown"),
    ("CDPATH=/; cd sub; cat ./x", "unknown"),
    ("cd sub && { cd ..; } && cat ../x", "outside"),
    ("cd sub && (cd deep; zip) && cat ../x", "inside"),
    ("cd sub | zip; cat ../x", "outside"),
    ("command cd ..; cat ./x", "outside"),
    ("eval 'cd ..'; cat ./x", "outside"),
    ("cd out && cat ./x", "outside"),
    ("cd out/.. && cat ./x", "outside"),
    ("cd sub; cat /etc/x", "outside"),
    ("env -C / cat ./x", "unknown"),
]


@pytest.mark.parametrize(("script", "location"), MOVES, ids=[script for script, _ in MOVES])
def test_relative_paths_follow_cd_or_count_as_unknown(bash: Bash, root: Path, script: str, location: str) -> None:
    document = bash(script, roots=(str(root),))
    cat = max(index for index, found in enumerate(document["commands"]) if found["name"] == "cat")
    [path] = [path for path in document["paths"] if path["command"] == cat]
    assert path["location"] == location
    assert document["directory"]["changed"] is ("-C" not in script)


def test_without_a_workspace_nothing_is_inside(bash: Bash) -> None:
    document = bash("cat ./x > y; cat /x")
    assert {path["location"] for path in document["paths"]} == {"unknown", "outside"}
    assert document["directory"] == {"changed": False, "location": "unknown", "normalised": None, "inside": False}


def test_a_path_entry_names_its_command_and_role(bash: Bash, root: Path) -> None:
    document = bash("./zap sub/x < file; bash x.sh", roots=(str(root),))
    assert [(path["command"], path["role"], path["given"]) for path in document["paths"]] == [
        (0, "redirection", "file"),
        (0, "program", "./zap"),
        (0, "argument", "sub/x"),
        (1, "script", "x.sh"),
    ]
    assert document["paths"][2]["normalised"] == f"{root}/sub/x"


def test_more_paths_than_are_looked_at_are_a_parse_error(bash: Bash, root: Path) -> None:
    document = bash("cat " + "a/b " * 1500, roots=(str(root),))
    assert len(document["paths"]) == 1000
    assert document["errors"] == ["more than 1000 paths"]
