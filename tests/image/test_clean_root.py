"""The Dockerfile, played in a clean root: what comes out runs, is small, is safe, and comes out again (K8S-4).

Run by `make image-root`; it takes root, on Debian.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import jsonschema_rs
import pytest
from child_processes import children_of
from clean_root import USER, Builder, NoCleanRootError, Played, debian, workplace
from cyclonedx import schema as cyclonedx_schema
from dockerfile import ROOT
from grpc_health.v1 import health_pb2, health_pb2_grpc

pytestmark = [pytest.mark.req("K8S-4"), pytest.mark.timeout(1200)]
MOST_BYTES = 350 * 1024 * 1024
PATIENCE_S = 120
CONFIG = """
server: {listen: ["unix:{state}/agent.sock"]}
state: {dir: /var/lib/interlock}
metrics: {listen: ""}
"""


@pytest.fixture(scope="session")
def twice() -> Iterator[tuple[Builder, Builder]]:
    """The gateway's image, built twice, each time from an empty directory."""
    try:
        debian()
    except NoCleanRootError as error:
        pytest.skip(str(error))

    def built(place: Path) -> Builder:
        place.mkdir()
        builder = Builder(place)
        builder.play("build")
        builder.play("gateway")
        return builder

    with workplace() as work, ThreadPoolExecutor(2) as side_by_side:
        first, second = side_by_side.map(built, (work / "one", work / "two"))
        yield first, second


@pytest.fixture(scope="session")
def image(twice: tuple[Builder, Builder]) -> Played:
    return Played(twice[0].file.stage("gateway"), twice[0].roots["gateway"])


def test_the_image_says_its_version(image: Played) -> None:
    said = subprocess.run(image.command("--version"), capture_output=True, text=True, check=True)
    assert said.stdout == f"interlock {locked('interlock-gateway')}\n"


def test_two_builds_are_the_same_to_the_byte(twice: tuple[Builder, Builder]) -> None:
    first, second = (dict(entries(builder.roots["gateway"])) for builder in twice)
    assert first.keys() == second.keys()
    assert not [path for path in first if first[path] != second[path]]


def test_the_image_is_small(image: Played) -> None:
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if not path.is_dir())
    print(f"\n{size / 1024 / 1024:.0f} MiB in {sum(1 for _ in image.root.rglob('*'))} files")  # noqa: T201 - a figure
    assert size < MOST_BYTES


def test_nothing_in_it_gives_anybody_more_than_they_have(image: Played) -> None:
    for path in image.root.rglob("*"):
        found = path.lstat()
        assert not found.st_mode & (stat.S_ISUID | stat.S_ISGID), path
        assert path.is_symlink() or not found.st_mode & stat.S_IWOTH, path
        owner = USER if path == image.root / "var/lib/interlock" else 0
        assert (found.st_uid, found.st_gid) == (owner, owner), path
        assert not os.listxattr(path, follow_symlinks=False), path


def test_there_is_nothing_to_build_install_or_fetch_with(image: Played) -> None:
    files = [path for path in image.root.rglob("*") if path.is_file() and not path.is_symlink()]
    programs = {path.name for path in files if path.stat().st_mode & 0o111}
    assert {name for name in programs if not name.startswith("ld-linux")} == {"python3.11", "interlock"}
    assert not {path.name for path in files} & {"apt", "apt-get", "dpkg", "sh", "bash", "busybox", "gcc", "ld", "ldd"}
    assert not [path for path in files if path.suffix in {".a", ".o", ".whl", ".deb"}]
    modules = {path.name for start in image.root.glob("**/os.py") for path in start.parent.iterdir()}
    modules |= {path.name for path in (image.root / "opt/interlock/lib/python3.11/site-packages").iterdir()}
    assert not modules & {"pip", "ensurepip", "uv", "hatchling", "setuptools", "wheel", "venv", "idlelib", "tkinter"}
    assert not list((image.root / "tmp").iterdir())
    assert not list((image.root / "var/lib/interlock").iterdir())


def test_the_bill_lists_everything_that_is_installed_as_it_is_locked(image: Played) -> None:
    bill: Any = json.loads((image.root / "usr/share/doc/interlock/sbom.cdx.json").read_text(encoding="utf-8"))
    found = {normal(one["name"]): one["version"] for one in bill["components"]} | {
        normal(bill["metadata"]["component"]["name"]): bill["metadata"]["component"]["version"]
    }
    installed = {}
    for metadata in image.root.glob("opt/interlock/lib/python3.11/site-packages/*.dist-info/METADATA"):
        text = metadata.read_text(encoding="utf-8")
        name, version = (re.search(rf"^{key}: (.+)$", text, re.MULTILINE) for key in ("Name", "Version"))
        assert name
        assert version
        installed[normal(name[1])] = version[1]
    assert len(installed) > 50
    assert {name: found.get(name) for name in installed} == installed
    assert {name: locked(name) for name in installed} == installed
    assert {"libc6", "libssl3", "libsqlite3-0", "python3.11-minimal", "ca-certificates"} <= found.keys()
    for package in (image.root / "var/lib/dpkg/status.d").iterdir():
        assert f"Version: {found[normal(package.name)]}" in package.read_text(encoding="utf-8")


def test_the_bill_is_as_cyclonedx_has_it(image: Played) -> None:
    bill: Any = json.loads((image.root / "usr/share/doc/interlock/sbom.cdx.json").read_text(encoding="utf-8"))
    assert bill["specVersion"] == "1.6"
    schemas = Path(cyclonedx_schema.__file__).parent / "_res"
    used = {name: json.loads((schemas / name).read_text(encoding="utf-8")) for name in USED_SCHEMAS}
    registry = jsonschema_rs.Registry([(f"http://cyclonedx.org/schema/{name}", used[name]) for name in used])
    schema = json.loads((schemas / "bom-1.6.SNAPSHOT.schema.json").read_text(encoding="utf-8"))
    problems = [error.message for error in jsonschema_rs.validator_for(schema, registry=registry).iter_errors(bill)]
    assert not problems


def test_what_is_installed_is_what_its_records_say(image: Played) -> None:
    start = image.root / "opt/interlock/lib/python3.11/site-packages"
    checked = 0
    for record in start.glob("*.dist-info/RECORD"):
        for line in record.read_text(encoding="utf-8").splitlines():
            path, hashed, _ = line.rsplit(",", 2)
            file = start / path.strip('"')
            assert file.exists(), line
            if hashed and not path.startswith("../"):
                assert hashed == f"sha256={urlsafe(file)}", line
                checked += 1
    assert checked > 1000


def test_the_gateway_serves_from_it_as_65532_on_a_root_that_cannot_be_written(image: Played) -> None:
    with state_directory() as state:
        (state / "interlock.yaml").write_text(CONFIG, encoding="utf-8")
        mounts = {"/var/lib/interlock": state}
        config = ("--config", "/var/lib/interlock/interlock.yaml")
        checked = subprocess.run(
            image.command("check", *config, mounts=mounts), capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        serving = subprocess.Popen(
            image.command("serve", *config, "-o", "json", mounts=mounts), stdout=subprocess.PIPE, text=True
        )
        try:
            assert serving.stdout is not None
            assert json.loads(serving.stdout.readline())["ready"] is True
            assert asyncio.run(health(state / "agent.sock")) == health_pb2.HealthCheckResponse.SERVING
            assert ids_of(serving) == {f"{USER}\t{USER}\t{USER}\t{USER}"}
            assert {file.stat().st_uid for file in state.rglob("*")} - {0} == {USER}
            inside = next(iter(children_of(serving.pid)))
            os.kill(inside, signal.SIGTERM)
            assert serving.wait(PATIENCE_S) == 0
        finally:
            serving.kill()
            serving.wait(PATIENCE_S)
            if serving.stdout is not None:
                serving.stdout.close()


def test_the_toolboxs_image_has_a_shell_and_nothing_that_changes_users(twice: tuple[Builder, Builder]) -> None:
    toolbox = twice[0].play("toolbox")
    said = subprocess.run(toolbox.command("toolbox", "--help"), capture_output=True, text=True, check=True)
    assert "Serve read, write" in said.stdout
    assert (toolbox.root / "bin/bash").exists()
    for path in toolbox.root.rglob("*"):
        assert path.is_dir() or not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID), path


def test_nothing_outside_the_state_can_be_written(image: Played) -> None:
    program = """
import os
os.close(os.open("/tmp/x", os.O_CREAT | os.O_WRONLY))
for place in ("/", "/opt/interlock", "/etc", "/var/lib/interlock", "/usr"):
    try:
        os.open(place + "/x", os.O_CREAT | os.O_WRONLY)
    except OSError as error:
        assert error.errno in (13, 30), error
    else:
        raise SystemExit(place)
"""
    command = image.command("-c", program)
    entry = command.index("/opt/interlock/bin/interlock")
    command[entry] = "/opt/interlock/bin/python"
    subprocess.run(command, check=True)


USED_SCHEMAS = ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")


@contextmanager
def state_directory() -> Iterator[Path]:
    """A directory as Kubernetes gives one to a pod whose group is 65532."""
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as made:
        os.chown(made, USER, USER)
        yield Path(made)


async def health(socket: Path) -> int:
    async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
        asked = health_pb2.HealthCheckRequest()
        answer = await health_pb2_grpc.HealthStub(channel).Check(asked, timeout=PATIENCE_S)
    return int(answer.status)


def ids_of(serving: "subprocess.Popen[str]") -> set[str]:
    """The users that the gateway and its workers run as."""
    found, waiting = set(), children_of(serving.pid)
    while waiting:
        process = waiting.pop()
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        found |= {line.removeprefix("Uid:").strip() for line in status.splitlines() if line.startswith("Uid:")}
        waiting |= children_of(process)
    return found


def entries(root: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Everything below a root, with all that an image holds of it."""
    for path in sorted(root.rglob("*")):
        found = path.lstat()
        held = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            held = hashlib.sha256(path.read_bytes()).hexdigest()
        dated = 0 if path.is_dir() else int(found.st_mtime)
        yield path.relative_to(root).as_posix(), (found.st_mode, found.st_uid, found.st_gid, dated, held)


def locked(name: str) -> str:
    """The version of a package in requirements.lock, or of ours in this repository."""
    if name in {"interlock-gateway", "interlock-sdk"}:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    else:
        text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        found = re.search(rf"^{re.escape(name)}==([^ ;\\]+)", text, re.MULTILINE)
    assert found, name
    return found[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower() if not name.startswith(("lib", "python3")) else name


def urlsafe(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
