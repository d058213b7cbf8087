"""Bring ``.venv`` to what ``requirements-dev.lock`` says, and install both distributions of this repository in it.

Run by ``make setup`` with a Python 3.11, whose standard library is all it uses. ``uv`` (pinned with its hashes by the
same lock file) does the work in a second or two; where it cannot run or cannot reach the registry, pip does, slower.
The registry and certificates that pip is configured with are used by both.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-dev.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
SOURCES = (ROOT / "gateway", ROOT / "sdk")
DISTRIBUTIONS = ("-e", str(ROOT / "sdk"), "-e", str(ROOT))

UV_NAMES_OF_PIP_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def main() -> int:
    """Set up; 0 when the environment is as locked, otherwise the failed installer's exit code, after its own words."""
    if not is_our_environment():
        try:
            venv.create(VENV, clear=True, with_pip=True, symlinks=True)
        except subprocess.CalledProcessError:
            print(f"{sys.executable} cannot put pip into {VENV}; on Debian, install python3.11-venv", file=sys.stderr)
            return 1
    try:
        install_with_uv()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"uv could not install the dependencies ({error}); trying pip", file=sys.stderr)
        try:
            install_with_pip()
        except subprocess.CalledProcessError as failure:
            return failure.returncode
    compile_sources()
    return 0


def is_our_environment() -> bool:
    """Tell whether ``.venv`` holds a working Python 3.11 that was made at this place, with pip in it."""
    question = "import pip, sys; print(sys.prefix, *sys.version_info[:2])"
    try:
        answer = subprocess.run([PYTHON, "-c", question], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    moved = str(VENV) not in (VENV / "bin" / "activate").read_text(encoding="utf-8")
    return answer.strip() == f"{VENV} 3 11" and not moved


def install_with_uv() -> None:
    """Install everything with the locked uv; raises CalledProcessError or OSError when it cannot."""
    with tempfile.TemporaryDirectory() as scratch:
        locked_uv = Path(scratch) / "uv.lock"
        locked_uv.write_text(locked_requirement("uv"), encoding="utf-8")
        run(PYTHON, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", locked_uv)
    environment = pip_settings() | dict(os.environ)
    uv = (VENV / "bin" / "uv", "pip")
    target = ("-q", "--python", PYTHON, "--compile-bytecode")
    run(*uv, "sync", *target, "--require-hashes", LOCK, env=environment)
    run(*uv, "install", *target, "--no-deps", "--no-build-isolation", *DISTRIBUTIONS, env=environment)


def install_with_pip() -> None:
    """Install everything with pip; raises CalledProcessError when it cannot."""
    pip = (PYTHON, "-m", "pip", "install", "-q")
    run(*pip, "--require-hashes", "-r", LOCK)
    run(*pip, "--no-deps", "--no-build-isolation", *DISTRIBUTIONS)


def compile_sources() -> None:
    """Compile our own sources, as the installers do with all others: a start takes less than half the time then.

    A source that is edited is compiled again when it is imported. One that does not compile says so there too.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [str(PYTHON), "-m", "compileall", "-q", *map(str, SOURCES)]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


def locked_requirement(name: str) -> str:
    """Return the lock file's entry of a package, its hashes included."""
    found = re.search(rf"^{name}==(?:.*\\\n)*.*", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        message = f"{LOCK.name} does not pin {name}"
        raise SystemExit(message)
    return found.group() + "\n"


def pip_settings() -> dict[str, str]:
    """Return what pip is told of registries and certificates, under the names that uv reads."""
    command = [str(PYTHON), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        if name := UV_NAMES_OF_PIP_SETTINGS.get(key.rsplit(".", 1)[-1]):
            settings[name] = value_for_uv(name, ast.literal_eval(value))
    return settings


def value_for_uv(name: str, value: str) -> str:
    """Return pip's value as uv wants it: pip separates several places by white space, uv find-links by commas."""
    return ",".join(value.split()) if name == "UV_FIND_LINKS" else value


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command at the root of the repository; raises CalledProcessError when it fails."""
    subprocess.run([str(part) for part in command], cwd=ROOT, env=env, check=True)


if __name__ == "__main__":
    sys.exit(main())
