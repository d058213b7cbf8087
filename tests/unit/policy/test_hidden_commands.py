"""However a command is hidden, what destroys, sends something away or runs what nobody has seen is not let through."""

import json
from pathlib import Path

import pytest
from engine_running import verdict, with_shipped_policies
from interlock_gateway.policy.embedded.engine import EmbeddedEngine

engine = pytest.fixture(with_shipped_policies)
pytestmark = pytest.mark.req("PIPE-5", "POL-4")

SCRIPTS = [
    json.loads(line)
    for line in Path(__file__).with_name("hidden_commands.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
HARMLESS = [
    "ls -la src",
    "git status && git diff",
    "grep -rn 'rm -rf' src | head",
    "cat notes.txt | sort | uniq -c",
    "PYTHONPATH=src pytest",
    "bun test",
    "deno test",
    "git log --pretty=format:%h --since=2024-01-01 -n 5",
    "git diff -- . ':!package-lock.json'",
    "git show HEAD:notes.txt",
    "pytest --cov=src --cov-report=xml:build/cov.xml tests/test_a.py::test_b",
    "git commit -m 'fix(api): /users answers'",
    "grep -rn 'foo:/bar' src",
]

# What an agent does all day, and what only looks.
WORK = [
    *filter(
        None,
        r"""
ls -la src
git status
git diff
pytest -q
pytest -k 'a and b'
pytest -p no:cacheprovider
npm test
cargo test
go test ./...
go test -run '^TestX$/sub' ./x
go build -ldflags="-X main.v=1" ./cmd/x
go list -m all
mvn -q test
mvn -q -DskipTests package
mvn -pl web -P ci verify
mvn dependency:tree
dotnet test
dotnet build -c Release --no-restore -p:Version=1.2.3
docker build -t app .
git fetch origin
git fetch origin pull/87/head:pr-87
git fetch --prune origin
git pull --rebase
git pull origin main
git stash
git stash push -m 'half done'
git commit -m 'fix: a=b'
git log --pretty=format:%H --since=2.weeks
git log --format='%h %s'
git worktree add wt main
tox -e py311
tox -e py311 -- tests/test_import.py
nox -s lint test
npx jest
npx tsc --noEmit
npx playwright test
uv run pytest -q
uv run --frozen --group=dev pytest
yarn test
yarn run lint
yarn run test:unit
yarn workspace web test
npm run build -- --env dev
sbt test
sbt 'testOnly shop.CartSpec'
cmake -S . -B build -DFOO=bar -DCMAKE_BUILD_TYPE=Release
cmake --build build --target x
ninja -C build
argocd app get shop
argocd app diff shop --refresh
kubectl diff -k overlays/dev
kustomize build overlays/dev
flake8 --exclude=.git,build src
jq .a notes.yaml
xxd -l 16 notes.txt
python -m json.tool --indent 4 x
awk -F, '{print $1}' x
git config --get user.name
git config --global --list
git config user.name
git rev-list --count HEAD
git for-each-ref
git show-ref
git check-ignore -v x
git remote get-url origin
column -t -s, x
tar -tzf x.tar
tar -tf x.tar
unzip -l x.zip
openssl version
ps aux
ps -ef
npm pkg get version
[[ $? -eq 0 ]] && echo ok
pytest -q | tail -3; [[ ${PIPESTATUS[0]} -eq 0 ]] && echo ok
[[ 1 -lt 2 && -f x ]] && ls
du -sh --exclude=node_modules .
set -euo pipefail; pytest -q
set -o pipefail; pytest -q | tail -3
set -ueo pipefail; npm test
.venv/bin/pytest -q
./venv/bin/python -m pytest -q tests
.venv/bin/python script.py
node_modules/.bin/eslint src
./scripts/test.sh -v
for i in 1 2 3 4 5; do python -m pytest tests/test_import.py -q -k parallel || break; done
for i in {1..5}; do pytest -q; done
for i in $(seq 1 5); do pytest -q; done
for f in src/*.py; do head -3 "$f"; done
for f in *.md docs/*.md; do echo "$f"; done
for f in *.md docs/*.md; do echo; head -3 "$f" | wc -l; done
for d in src docs; do ls $d; for n in 1 2; do echo $d/$n; done; done
for s in web api; do kubectl get pods -l app=$s; done
for f in x.py y.js; do head -3 $f; done
for f in *.py; do head -3 "$f"; done
strings -n 8 x
""".splitlines(),
    )
]


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    for name in ("notes.txt", "Makefile", "script.txt", "x", "y", "x.py", "y.js", "x.tar", "x.zip", "notes.yaml"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    for name in ("dir", "src", "dist", "build", "docs"):
        (tmp_path / name).mkdir()
    return str(tmp_path)


async def test_no_hidden_command_is_allowed(engine: EmbeddedEngine, workspace: str) -> None:
    assert len(SCRIPTS) > 1000
    assert [
        script for script in SCRIPTS if await verdict(engine, script, workspace) not in {"deny", "checkpoint"}
    ] == []


async def test_plain_reading_is_allowed(engine: EmbeddedEngine, workspace: str) -> None:
    assert [script for script in HARMLESS if await verdict(engine, script, workspace) != "allow"] == []


async def test_daily_work_is_allowed(engine: EmbeddedEngine, workspace: str) -> None:
    assert [script for script in WORK if await verdict(engine, script, workspace) != "allow"] == []
