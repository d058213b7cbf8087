"""Make the file system of the image: Python, what requirements.lock says, our two wheels, and nothing to build with.

Run by the Dockerfile in a stage that is thrown away, and by `make image-root` in a clean root without a container
engine, as root, with a Python 3.11 whose standard library is all it uses:

    python3.11 tools/image/build_root.py OUT

It installs into /opt/interlock, which may not exist yet, and leaves in OUT:

    root/               the file system, to be owned by root
    state/              the directory of the state, to be owned by 65532
    sbom.cdx.json       what is in it, as in the file system

With the same Python, libraries and lock files it writes the same bytes, dates included (SOURCE_DATE_EPOCH).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bill import system_packages, write_bill, write_packages
from closure import copy_python, copy_system, every_library
from tidy import tidy_environment

SOURCES = Path(__file__).resolve().parents[2]
APP = Path("/opt/interlock")
EARLIEST = 315_532_800
"""1980, the first year that a wheel can hold."""
MODULES = "lib/python3.11/site-packages"


def main() -> int:
    """Make it; 0 when it is made, 2 for a wrong command line. Raises what a step raises."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and where to
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(sys.argv[1]).absolute()
    root = out / "root"
    root.mkdir(parents=True)
    (out / "state").mkdir()
    epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), EARLIEST)
    os.environ |= {"SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        with step("installing what builds"):
            tools = make_tools(Path(scratch) / "tools")
        with step("building our wheels"):
            wheels = build_wheels(tools, Path(scratch) / "wheels")
        with step("installing what is locked, and the wheels"):
            install(tools, wheels)
            tidy_environment(APP, keep=("interlock",))
        with step("copying Python and its libraries"):
            copy_python(root)
            shutil.copytree(APP, root / APP.relative_to("/"), symlinks=True)
            libraries = every_library(root)
            copy_system(root, libraries)
        with step("writing down what is in it"):
            packages = system_packages(libraries)
            write_packages(root, packages)
            write_bill(tools, APP, SOURCES / "pyproject.toml", packages, out / "sbom.cdx.json")
            shutil.copy(out / "sbom.cdx.json", made(root / "usr/share/doc/interlock") / "sbom.cdx.json")
            shutil.copy(SOURCES / "LICENSE", root / "usr/share/doc/interlock/LICENSE")
        with step("compiling"):
            compile_all(root)
    stamp(out, epoch)
    return 0


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is done, and how long it took."""
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:6.1f} s  {what}", file=sys.stderr, flush=True)


def run(*command: str | Path, **environment: str) -> None:
    """Run a command among the sources. Raises CalledProcessError."""
    subprocess.run([str(part) for part in command], cwd=SOURCES, env=os.environ | environment, check=True)


def make_tools(directory: Path) -> Path:
    """An environment with what builds, as tools/image/build.lock says; its Python."""
    venv.create(directory, with_pip=True, symlinks=True)
    python = directory / "bin" / "python"
    lock = Path(__file__).with_name("build.lock")
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "uv.lock"
        first.write_text(entry_of("uv", lock.read_text(encoding="utf-8")), encoding="utf-8")
        run(python, "-m", "pip", "install", "-q", "--no-cache-dir", "--require-hashes", "--no-deps", "-r", first)
    run(python, "-m", "uv", "pip", "install", *QUIETLY, "--python", python, "--require-hashes", "-r", lock)
    return python


QUIETLY = ("-q", "--link-mode", "copy", "--only-binary", ":all:", "--no-config")


def entry_of(name: str, lock: str) -> str:
    """The lock file's entry of a package, with its hashes."""
    lines = lock.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = next(number for number in range(start, len(lines)) if not lines[number].endswith("\\"))
    return "\n".join(lines[start : end + 1]) + "\n"


def build_wheels(tools: Path, directory: Path) -> list[Path]:
    """Our two wheels."""
    for distribution in (SOURCES, SOURCES / "sdk"):
        command = [str(tools), "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
        subprocess.run(command, cwd=distribution, stdout=subprocess.DEVNULL, check=True)
    return sorted(directory.glob("*.whl"))


def install(tools: Path, wheels: list[Path]) -> None:
    """Everything into APP: with hashes what is locked, and nothing that the lock does not have."""
    interpreter = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    run(interpreter, "-m", "venv", "--without-pip", APP)
    into = (*QUIETLY, "--python", APP / "bin" / "python", "--no-deps")
    run(tools, "-m", "uv", "pip", "install", *into, "--require-hashes", "-r", "requirements.lock")
    run(tools, "-m", "uv", "pip", "install", *into, "--offline", *wheels)
    run(tools, "-m", "uv", "pip", "check", "-q", "--no-config", "--python", APP / "bin" / "python")


def compile_all(root: Path) -> None:
    """Compile every module, with no date in it and no look at its source when it is imported.

    One process for each tree, one file after the other: what a compiled file holds depends on what its process
    compiled before.
    """
    trees = [root / Path(os.__file__).parent.relative_to("/"), root / APP.relative_to("/") / MODULES]
    options = ("-q", "-j", "1", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/")
    running = [subprocess.Popen([sys.executable, "-m", "compileall", *options, str(tree)]) for tree in trees]
    if failed := [process.args for process in running if process.wait()]:
        raise SystemExit(f"cannot be compiled: {failed}")


def stamp(out: Path, epoch: int) -> None:
    """Give everything one date, and modes that do not depend on whoever builds. Only programs can be run."""
    for path in sorted(out.rglob("*"), reverse=True):
        if not path.is_symlink():
            # The loader is run by the kernel; other libraries are only read.
            runs = path.parent.name == "bin" or path.name.startswith("ld-linux")
            path.chmod(0o755 if path.is_dir() or runs else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    (out / "state").chmod(0o700)


def made(directory: Path) -> Path:
    """The directory, made if it was not there."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory


if __name__ == "__main__":
    sys.exit(main())
