"""What a pattern of file names stands for is looked at: none leads out of the workspace or to a secret unasked."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from engine_running import verdict, with_shipped_policies
from interlock_gateway.policy.embedded.engine import EmbeddedEngine

engine = pytest.fixture(with_shipped_policies)
pytestmark = pytest.mark.req("POL-4", "PIPE-5")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with secrets and with links that lead out of it."""
    root = tmp_path / "workspace"
    for name in ("src", "docs", "build", "keys", "data", "quiet/sub", ".config"):
        (root / name).mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "hostname").write_text("x", encoding="utf-8")
    for name in (
        *("README.md", "notes.txt", "more.txt", "src/a.py", "src/b.py", "build/a.o", "docs/x.md", "data/a.json"),
        *(".env", ".env.example", "id_rsa", "credentials.json", "keys/server.pem", "quiet/x.py", "quiet/sub/y.py"),
    ):
        (root / name).write_text("x", encoding="utf-8")
    (root / "edir").symlink_to(outside)
    (root / "hlink").symlink_to(outside / "hostname")
    (root / "zlink.txt").symlink_to(root / ".env")
    return root


async def decided(engine: EmbeddedEngine, scripts: Iterable[str], root: Path) -> dict[str, str]:
    return {script: await verdict(engine, script, root) for script in scripts}


OUT_OF_THE_WORKSPACE = {
    "cp README.md e*/f": "deny",
    "cp README.md e*": "deny",
    "cp README.md ?dir/f": "deny",
    "cp README.md [e]dir/f": "deny",
    "cp README.md '[e'dir*/f": "checkpoint",
    "cp README.md *dir/f": "deny",
    "cp README.md ./e*/f": "deny",
    "cp README.md {edir,src}/f": "checkpoint",
    "cp README.md e*/../f": "deny",
    "cp README.md */f": "deny",
    "cp README.md **/f": "deny",
    "mv README.md e*/f": "deny",
    "touch e*/f": "deny",
    "sed -i s/a/b/ e*/hostname": "checkpoint",
    "sed -i s/a/b/ h*": "checkpoint",
    "tee e*/f": "deny",
    "cat e*/hostname hl*": "checkpoint",
    "cat hl?nk": "checkpoint",
    "head -1 */hostname": "checkpoint",
    "echo x > e*/f": "deny",
    "echo x >> ?dir/f": "deny",
    "cat < h*k": "checkpoint",
    "cd src && cp b.py ../e*/f": "deny",
    "shopt -s dotglob; cat *": "deny",
    "cp README.md new*/f": "checkpoint",
    "npx prettier --write 'e*/*'": "checkpoint",
}


async def test_a_pattern_that_leads_out_is_not_let_through(engine: EmbeddedEngine, root: Path) -> None:
    assert await decided(engine, OUT_OF_THE_WORKSPACE, root) == OUT_OF_THE_WORKSPACE


SECRETS = [
    *("cat cred*", "cat id_rs?", "cat i[d]_rsa", "head i*", "base64 id_*", "cp cred* n.txt", "mv id_* n.txt"),
    *("cat *", "cat *.json", "cat k*/*", "cat */server.p?m", "cat ke[x-z]s/* keys/*", "cat z*", "cat < cred*"),
    *("cat .e*", "cat .env", "cat id_rsa", "cat ~/.ssh/id_rsa", 'cat "$HOME/.ssh/id_rsa"', "head -c 9 ~/.netrc"),
    *("cd keys && cat s*", "grep x *", "awk 1 cred*", "tar cf x.tar cred*", "rsync cred* x", "sort < id_*"),
    *("cat nowhere/id_rsa", "cat missing/.env", "diff --from-file=.env README.md", "grep -f.env README.md"),
    *("cat [[:alpha:]]d_rsa", "cat **/server.pem", "bash -c 'cat id_*'", "git diff --no-index README.md cred*"),
    *("npx prettier '*.json'", "git log -p -- 'cred*'"),
]


async def test_no_secret_is_read_through_a_pattern(engine: EmbeddedEngine, root: Path) -> None:
    assert await decided(engine, SECRETS, root) == dict.fromkeys(SECRETS, "deny")


ASKED = [
    *("cat {cred,x}*", "cat {.env,x}", "for f in cred*; do cat $f; done", "find . -name 'cred*' -exec cat {} +"),
    *("find . -name '*.pem' | xargs cat", "git show HEAD:.env", "echo id_dsa", "grep -n id_dsa README.md"),
]


async def test_a_person_decides_about_what_may_be_a_secret(engine: EmbeddedEngine, root: Path) -> None:
    assert await decided(engine, ASKED, root) == dict.fromkeys(ASKED, "checkpoint")


HARMLESS = [
    *(
        "cat src/*.py",
        "ls *.md",
        "wc -l *.txt",
        "ls *",
        "du -sh *",
        "cat docs/*",
        "head -5 src/?.py",
        "cat src/[ab].py",
    ),
    *("cat data/*.json", "cp src/*.py docs/", "touch src/a*", "sed -i s/a/b/ src/*.py", "cp README.md d*s/x.md"),
    *("cat README.*", "ls cred*", "stat id_*", "echo *.json", "cat nothing*.py", "grep -n x src/*.py", "ls -la */"),
    *("pytest src/*.py", "git add *.py", "cat src/[ab].py", "cat src/**/*.py", "npx prettier --check 'src/**/*.py'"),
    *("git log --stat -- '*.mp4'",),
]


async def test_harmless_patterns_bother_nobody(engine: EmbeddedEngine, root: Path) -> None:
    for link in ("edir", "hlink"):
        (root / link).unlink()
    assert await decided(engine, HARMLESS, root) == dict.fromkeys(HARMLESS, "allow")


UNSEEN = {
    "cat src/*.py": "allow",
    "ls *.md": "allow",
    "wc -l *.txt": "allow",
    "du -sh *": "allow",
    "cat .env": "deny",
    "cat id_rsa": "deny",
    "cat ~/.ssh/id_rsa": "deny",
    "head -3 config/credentials.json": "deny",
    "cat cred*": "checkpoint",
    "cat id_rs?": "checkpoint",
    "cat i[d]_rsa": "checkpoint",
    "cat *.p?m": "checkpoint",
    "cat *": "checkpoint",
    "cp README.md e*/f": "checkpoint",
    "cp README.md e*": "checkpoint",
    "sed -i s/a/b/ src/*.py": "checkpoint",
    "rm build/*.o": "checkpoint",
    "pytest tests/test_*.py": "allow",
}


async def test_where_the_gateway_sees_no_disk_a_pattern_may_stand_for_anything(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    assert await decided(engine, UNSEEN, tmp_path / "elsewhere") == UNSEEN


SEARCHES = {
    "grep -rh . .": "checkpoint",
    "grep -rn x src": "allow",
    "grep -rn --include=*.py x .": "allow",
    "rg x src docs": "allow",
    "rg --hidden x": "checkpoint",
    "grep -r x keys": "checkpoint",
    "find . -name '*.py' -exec grep -r x . {} +": "checkpoint",
    "git diff --no-index docs .": "checkpoint",
    "git diff docs .": "checkpoint",
    "git diff docs keys": "checkpoint",
    "git -C docs diff . ../keys": "checkpoint",
    "git diff docs src": "allow",
    "git diff main feature": "allow",
    "git diff HEAD~1 -- docs": "allow",
    "grep -rn x docs | head": "allow",
}


async def test_a_search_where_secrets_lie_is_for_a_person(engine: EmbeddedEngine, root: Path) -> None:
    assert await decided(engine, SEARCHES, root) == SEARCHES


UNSEEN_SEARCHES = {
    "grep -rh . .": "checkpoint",
    "grep -rn 'Session()' src/clients": "allow",
    "grep -rn TODO --include=*.go src": "allow",
    "rg -l 'import requests' src tests": "allow",
    "git diff . ../other": "checkpoint",
    "git diff src .": "checkpoint",
    "git diff main...feature -- src": "allow",
    "git diff main feature": "allow",
    "git diff src tests": "allow",
    "git -C lib diff HEAD~1 HEAD": "allow",
}


async def test_where_the_gateway_sees_no_disk_a_search_through_all_is_for_a_person(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    assert await decided(engine, UNSEEN_SEARCHES, tmp_path / "elsewhere") == UNSEEN_SEARCHES
