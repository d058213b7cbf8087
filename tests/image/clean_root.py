"""Plays the Dockerfile without a container engine: a Debian made from its packages, and mounts of our own.

What an engine would do is done by `debootstrap`, `unshare` and `chroot`, as root, with nothing of this machine in it
but the network, a cache of wheels, and the certificates that the registry is checked with.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dockerfile import ROOT, Dockerfile, Instruction, Stage, read_dockerfile

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3.11", "python3.11-venv", "python3-distutils")
"""What the image that the Dockerfile names has as well, and nothing that compiles."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interlock-tools"
REGISTRY = ("PIP_", "UV_", "HTTP", "http", "NO_PROXY", "no_proxy")
USER = 65532
BUILT_S = 600


class NoCleanRootError(Exception):
    """A clean root cannot be had on this machine; says why."""


def debian() -> Path:
    """A Debian with Python 3.11 and nothing else, as an archive; made once, and kept. Raises `NoCleanRootError`."""
    if os.geteuid() != 0:
        raise NoCleanRootError("a clean root takes root (run it as root, or in a container)")
    kept = CACHE / f"{SUITE}-{os.uname().machine}-{'-'.join(PACKAGES)}.tar"
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            _debootstrap(Path(scratch))
            _run("tar", "--numeric-owner", "-C", f"{scratch}/root", "-cf", f"{scratch}/made.tar", ".")
            (Path(scratch) / "made.tar").replace(kept)
    return kept


def _debootstrap(scratch: Path) -> None:
    """Make a Debian in `scratch/root`, with debootstrap out of its package: nothing is installed here."""
    try:
        try:
            _run("apt-get", "download", "-qq", "debootstrap", cwd=scratch)
        except subprocess.CalledProcessError:
            # A machine that is new has no lists of packages yet.
            _run("apt-get", "update", "-qq")
            _run("apt-get", "download", "-qq", "debootstrap", cwd=scratch)
        _run("dpkg-deb", "-x", str(next(scratch.glob("debootstrap_*.deb"))), str(scratch / "tools"))
    except (OSError, subprocess.CalledProcessError, StopIteration):
        raise NoCleanRootError(
            "debootstrap cannot be had: it takes a Debian or Ubuntu with its package lists"
        ) from None
    program = scratch / "tools" / "usr" / "sbin" / "debootstrap"
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
    environment = {"DEBOOTSTRAP_DIR": str(scratch / "tools" / "usr" / "share" / "debootstrap")}
    try:
        _run(str(program), *options, SUITE, str(scratch / "root"), env=os.environ | environment)
    except subprocess.CalledProcessError as error:
        raise NoCleanRootError(f"debootstrap failed: {error.stdout[-2000:]}") from None


@dataclass(frozen=True, slots=True)
class Played:
    """A stage after its instructions: its file system, and how it is run."""

    stage: Stage
    root: Path

    def command(self, *arguments: str, mounts: Mapping[str, Path] | None = None) -> list[str]:
        """What runs the stage's entry point as its user, on a root that cannot be written.

        `mounts` are directories by the places at which they are seen; `/tmp` is empty, and in memory.
        """
        mounting = [
            'set -eu; mount --make-rprivate /; mount --bind "$1" "$1"',
            'mount -t tmpfs -o mode=0700,uid=65532,gid=65532 tmpfs "$1/tmp"; mount -t proc proc "$1/proc"',
            'mount -t tmpfs -o mode=0755 tmpfs "$1/dev"',
            "for name in null zero random urandom; do",
            'touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"; done',
            *(f'mount --bind "{path}" "$1{place}"' for place, path in (mounts or {}).items()),
            'mount -o remount,bind,ro "$1"',
            'shift; exec "$@"',
        ]
        entry = self.stage.all("ENTRYPOINT")[-1].rest.strip('[]"')
        user = self.stage.all("USER")[-1].rest
        environment = [f"{name}={value}" for name, value in self.stage.environment.items()]
        return [
            *("unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--kill-child"),
            *("sh", "-c", "\n".join(mounting), "sh", str(self.root)),
            *("/usr/bin/setpriv", "--no-new-privs", "--", "/usr/bin/env", "-i", *environment),
            *("/usr/sbin/chroot", f"--userspec={user}", "--groups=", str(self.root), entry, *arguments),
        ]


class Builder:
    """Plays the stages of a Dockerfile, one after the other, in directories below `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self.file: Dockerfile = read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"))
        self.roots: dict[str, Path] = {}

    def play(self, name: str) -> Played:
        """The stage with this name, after its instructions. The stages that it copies from have to be played before."""
        stage = self.file.stage(name)
        root = self._work / name
        root.mkdir()
        if stage.base != "scratch":
            _run("tar", "-C", str(root), "-xf", str(debian()))
        self.roots[name] = root
        where = "/"
        for instruction in stage.instructions:
            if instruction.word == "WORKDIR":
                where = instruction.rest
                (root / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif instruction.word == "COPY":
                self._copy(instruction, root, where)
            elif instruction.word == "RUN":
                run_inside(root, instruction.rest, where, self.arguments)
        return Played(stage, root)

    @property
    def arguments(self) -> dict[str, str]:
        """What the build is told, as an engine tells it."""
        return {"SOURCE_DATE_EPOCH": "1767225600"}

    def _copy(self, instruction: Instruction, root: Path, where: str) -> None:
        options = dict(word[2:].split("=", 1) for word in instruction.words if word.startswith("--"))
        *sources, target = [word for word in instruction.words if not word.startswith("--")]
        place = root / (Path("/") / where / target).relative_to("/")
        start = self.roots[options["from"]] if "from" in options else ROOT
        for source in sources:
            if "from" in options:
                copy_whole(start / source.lstrip("/"), place)
            else:
                copy_tracked(source, place)
        if owner := options.get("chown"):
            _run("chown", "-R", owner, str(place))


def copy_whole(source: Path, target: Path) -> None:
    """A directory's content as it is, into `target`."""
    target.mkdir(parents=True, exist_ok=True)
    _run("cp", "-a", f"{source}/.", str(target))


def copy_tracked(source: str, target: Path) -> None:
    """A file or directory of the repository, without what git ignores, into `target`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", source]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        inside = target / (Path(name).relative_to(source) if (ROOT / source).is_dir() else Path(name).name)
        inside.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, inside)


def run_inside(root: Path, command: str, where: str, arguments: Mapping[str, str]) -> None:
    """Run a shell command in a root, with the network and this machine's cache of wheels. Raises CalledProcessError."""
    for name in ("resolv.conf", "hosts"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), root / "etc" / name)
    environment = {name: value for name, value in os.environ.items() if name.startswith(REGISTRY)}
    environment |= {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    environment |= dict(arguments) | _certificates(root)
    environment["UV_CACHE_DIR"] = "/var/tmp/uv-cache"
    cache = CACHE / "uv"
    cache.mkdir(parents=True, exist_ok=True)
    (root / "var/tmp/uv-cache").mkdir(parents=True, exist_ok=True)
    lines = (
        'set -eu; mount --make-rprivate /; mount -t proc proc "$1/proc"; mount --bind /dev "$1/dev"',
        f'mount --bind "{cache}" "$1/var/tmp/uv-cache"',
        'exec chroot "$1" sh -c "cd $2 && $3"',
    )
    shell = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", "\n".join(lines)]
    subprocess.run([*shell, "sh", str(root), where, command], env=environment, timeout=BUILT_S, check=True)


def _certificates(root: Path) -> dict[str, str]:
    """Trust what this machine trusts of registries, in the tools that fetch, and not in the image."""
    trusted = os.environ.get("SSL_CERT_FILE") or os.environ.get("PIP_CERT") or ""
    if not trusted:
        return {}
    shutil.copy(trusted, root / "var/tmp/registry.pem")
    inside = "/var/tmp/registry.pem"
    return {"SSL_CERT_FILE": inside, "PIP_CERT": inside, "REQUESTS_CA_BUNDLE": inside}


@contextmanager
def workplace() -> Iterator[Path]:
    """An empty directory for roots, removed afterwards."""
    made = tempfile.mkdtemp(prefix="il-image-", dir="/tmp")
    try:
        yield Path(made)
    finally:
        # Half a minute faster than Python's own, with tens of thousands of files.
        _run("rm", "-rf", "--one-file-system", made)


def _run(*command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True)
