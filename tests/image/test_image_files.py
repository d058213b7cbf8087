"""What the image is made from, and what its scripts do with small environments (K8S-4)."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bill import Package
from build_root import EARLIEST, compile_all, entry_of, stamp
from clean_root import PACKAGES, SUITE
from closure import is_elf
from dockerfile import ROOT, Dockerfile, read_dockerfile
from tidy import keep_what_is_there, tidy_environment

pytestmark = pytest.mark.req("K8S-4")


def dockerfile() -> Dockerfile:
    return read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_last_stage_begins_with_nothing_and_runs_nothing_while_it_is_built() -> None:
    last = dockerfile().stages[-1]
    assert last.base == "scratch"
    assert not last.all("RUN")
    assert all("--from=build" in one.words for one in last.all("COPY"))


@pytest.mark.parametrize("name", ["gateway", "toolbox"])
def test_an_image_runs_as_a_user_without_powers_and_leaves_health_to_kubernetes(name: str) -> None:
    stage = dockerfile().stage(name)
    assert [one.rest for one in stage.all("USER")] == ["65532:65532"]
    assert [one.rest for one in stage.all("HEALTHCHECK")] == ["NONE"]
    assert [one.rest for one in stage.all("ENTRYPOINT")] == ['["/opt/interlock/bin/interlock"]']
    # A chart's `command: [interlock]` is looked for there.
    assert stage.environment["PATH"].split(":")[0] == "/opt/interlock/bin"


def test_the_images_version_is_ours_and_its_python_is_that_of_the_clean_root() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"VERSION={version}" in [one.rest for one in dockerfile().stage("gateway").all("ARG")]
    assert dockerfile().arguments == {"PYTHON": f"python:3.11-slim-{SUITE}"}
    assert "python3.11" in PACKAGES


def test_all_that_the_build_stage_copies_is_let_through_and_nothing_else() -> None:
    copied = {word for one in dockerfile().stage("build").all("COPY") for word in one.words[:-1]}
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert {"**/__pycache__", "**/*.pyc"} <= set(lines)


def test_every_package_that_builds_is_pinned_with_hashes_as_the_development_lock_has_it() -> None:
    lock = (ROOT / "tools" / "image" / "build.lock").read_text(encoding="utf-8")
    development = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+==[^ ;\\]+)", lock, re.MULTILINE)
    assert pins
    assert not [pin for pin in pins if f"\n{pin} " not in f"\n{development}"]
    entries = re.split(r"\n(?=[a-z])", lock)
    assert not [one for one in entries if not re.match(r"[\w.-]+==\S+ (; .+ )?\\\n +--hash=sha256:", one)]
    assert "://" not in lock


def test_an_instruction_that_cannot_be_played_is_an_error() -> None:
    with pytest.raises(ValueError, match="ADD is not an instruction that can be played"):
        read_dockerfile("FROM scratch AS x\nADD file /")


def test_continued_lines_and_comments_are_read_as_an_engine_reads_them() -> None:
    read = read_dockerfile("# said\nARG A=b\nFROM scratch AS x\nENV A=1 \\\n    B='2 3'\n# more\nLABEL c=\"d\"\n")
    assert read.arguments == {"A": "b"}
    assert read.stage("x").environment == {"A": "1", "B": "2 3"}
    assert [one.word for one in read.stage("x").instructions] == ["ENV", "LABEL"]


def test_one_entry_of_a_lock_file_is_read_with_its_hashes() -> None:
    lock = "a==1 \\\n    --hash=sha256:1\nuv==2 \\\n    --hash=sha256:2 \\\n    --hash=sha256:3\n    # via x\nz==3\n"
    assert entry_of("uv", lock) == "uv==2 \\\n    --hash=sha256:2 \\\n    --hash=sha256:3\n"


def test_an_environment_is_left_without_what_installers_leave_behind(tmp_path: Path) -> None:
    info = tmp_path / "lib/python3.11/site-packages/it-1.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "include").mkdir()
    for name in ("interlock", "other", "activate", "python", "python3.11"):
        (tmp_path / "bin" / name).write_text("#!", encoding="utf-8")
    for name in ("direct_url.json", "uv_cache.json", "METADATA"):
        (info / name).write_text("{}", encoding="utf-8")
    record = "it-1.dist-info/uv_cache.json,,\nit-1.dist-info/METADATA,sha256=x,2\n../../../bin/other,sha256=y,2\n"
    (info / "RECORD").write_text(record + "../../../bin/interlock,sha256=z,2\n", encoding="utf-8")

    tidy_environment(tmp_path, keep=("interlock",))

    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == ["interlock", "python", "python3.11"]
    assert sorted(path.name for path in info.iterdir()) == ["METADATA", "RECORD"]
    assert not (tmp_path / "include").exists()
    left = "../../../bin/interlock,sha256=z,2\nit-1.dist-info/METADATA,sha256=x,2\n"
    assert (info / "RECORD").read_text(encoding="utf-8") == left
    keep_what_is_there(info / "RECORD")
    assert (info / "RECORD").read_text(encoding="utf-8") == left


def test_everything_gets_one_date_and_modes_that_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "root").mkdir(mode=0o700)
    (tmp_path / "root" / "bin").mkdir()
    (tmp_path / "root" / "bin" / "program").write_text("x", encoding="utf-8")
    (tmp_path / "root" / "bin" / "program").chmod(0o4775)
    (tmp_path / "root" / "module.py").write_text("x", encoding="utf-8")
    (tmp_path / "root" / "module.py").chmod(0o755)
    (tmp_path / "root" / "text").write_text("x", encoding="utf-8")
    (tmp_path / "root" / "text").chmod(0o666)
    (tmp_path / "root" / "link").symlink_to("/nowhere")

    stamp(tmp_path, EARLIEST)

    modes = {path.name: oct(path.lstat().st_mode)[-4:] for path in tmp_path.rglob("*") if not path.is_symlink()}
    assert modes == {
        "state": "0700", "root": "0755", "bin": "0755", "program": "0755", "module.py": "0644", "text": "0644"
    }  # fmt: skip

    assert {int(path.lstat().st_mtime) for path in tmp_path.rglob("*")} == {EARLIEST}


def test_compiled_modules_hold_no_date_and_look_at_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_root.os.__file__", "/lib/python3.11/os.py", raising=True)
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    for place in ("lib/python3.11", "opt/interlock/lib/python3.11/site-packages"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "module.py").write_text("X = {'a', 'b', 'c'}\n", encoding="utf-8")

    compile_all(tmp_path)

    compiled = sorted(tmp_path.rglob("*.pyc"))
    assert len(compiled) == 2
    for one in compiled:
        content = one.read_bytes()
        # PEP 552: hash-based, and not checked.
        assert content[4:8] == b"\x01\x00\x00\x00"
        assert str(tmp_path).encode() not in content


def test_programs_and_libraries_are_known_by_how_they_begin(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ELF", encoding="utf-8")
    assert is_elf(Path(sys.executable).resolve())
    assert not is_elf(tmp_path / "text")


def test_a_debian_package_is_named_as_scanners_name_it() -> None:
    package = Package({"Package": "libc6", "Version": "2:2.36-9+deb12u10", "Architecture": "amd64"})
    assert package.component["purl"] == "pkg:deb/debian/libc6@2%3A2.36-9%2Bdeb12u10?arch=amd64"


def test_the_scripts_run_on_the_standard_library_alone() -> None:
    command = [sys.executable, "-S", "tools/image/build_root.py"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "/opt/interlock" in ended.stderr
