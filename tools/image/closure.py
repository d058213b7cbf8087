"""What a Python needs of the system it was made on: its own files, the libraries these load, certificates and names."""

import os
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
from pathlib import Path

LEFT_OUT = (
    "__pycache__", "test", "tests", "idlelib", "lib2to3", "tkinter", "turtledemo", "turtle.py", "ensurepip",
    "pydoc_data", "venv", "site-packages", "dist-packages", "config-*", "_tkinter*.so", "_test*.so", "_ctypes_test*.so",
    "_xx*.so", "xxlimited*.so", "nis.*.so", "_dbm.*.so", "_gdbm.*.so", "spwd.*.so", "ossaudiodev.*.so",
    "readline.*.so", "_curses*.so", "*.a", "*.exe",
)  # fmt: skip
"""Of the standard library: what tests it, what draws on screens, what installs, what asks old directories."""
_FOUND = re.compile(r"^\s*(?:\S+ => )?(?P<path>/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_NAMES = "passwd: files\ngroup: files\nhosts: files dns\n"
_USERS = "root:x:0:0:root:/nonexistent:/none\ninterlock:x:65532:65532:interlock:/var/lib/interlock:/none\n"
_GROUPS = "root:x:0:\ninterlock:x:65532:\n"


def copy_python(root: Path) -> None:
    """The interpreter and the standard library, to where they are here."""
    interpreter = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    put(interpreter, interpreter, root)
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, root / library.relative_to("/"), ignore=shutil.ignore_patterns(*LEFT_OUT))


def every_library(root: Path) -> list[Path]:
    """The libraries of the system that anything below `root` loads, by the paths at which they are looked for.

    Raises `SystemExit` naming what is not to be found.
    """
    loading = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink() and is_elf(path)]
    # Asked at their places in this system, so that what lies beside them is found beside them.
    here = [str(Path("/") / path.relative_to(root)) for path in loading]
    listed = subprocess.run(["/usr/bin/ldd", *here], capture_output=True, text=True, check=False).stdout
    if missing := [line.strip() for line in listed.splitlines() if "not found" in line]:
        raise SystemExit(f"what is loaded is not there: {', '.join(missing)}")
    found = {Path(match["path"]) for match in _FOUND.finditer(listed)}
    return sorted(path for path in found if not (root / path.relative_to("/")).exists())


def copy_system(root: Path, libraries: list[Path]) -> None:
    """The libraries, what tells who is who, the authorities' certificates, time zones, and places to mount on."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
    for library in libraries:
        put(library, library.parent.resolve() / library.name, root)
    for name in ("proc", "sys", "dev", "run", "tmp", "etc", "var/lib"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in (("nsswitch.conf", _NAMES), ("passwd", _USERS), ("group", _GROUPS)):
        (root / "etc" / name).write_text(text, encoding="utf-8")
    put(Path("/etc/os-release"), Path("/etc/os-release"), root)
    put(Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/ssl/certs/ca-certificates.crt"), root)
    wanted = Path(ssl.get_default_verify_paths().openssl_cafile)
    if wanted != Path("/etc/ssl/certs/ca-certificates.crt"):
        place = root / wanted.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to("/etc/ssl/certs/ca-certificates.crt")
    shutil.copytree("/usr/share/zoneinfo", root / "usr/share/zoneinfo", symlinks=True, ignore=_not_zones)
    # Where Python is not in the system's own directories, its library is only found by this.
    if Path("/etc/ld.so.conf").exists():
        put(Path("/etc/ld.so.conf"), Path("/etc/ld.so.conf"), root)
        shutil.copytree("/etc/ld.so.conf.d", root / "etc/ld.so.conf.d", dirs_exist_ok=True)
        subprocess.run(["/sbin/ldconfig", "-i", "-r", str(root)], check=True)
        shutil.rmtree(root / "var/cache", ignore_errors=True)


def put(source: Path, place: Path, root: Path) -> None:
    """A file's content, with its mode and without its links, at `place` below `root`."""
    target = root / place.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def is_elf(path: Path) -> bool:
    """Whether it is a program or a library."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _not_zones(directory: str, names: list[str]) -> set[str]:
    """What lies beside the time zones: the same ones once more, and tables for people."""
    at_the_top = os.path.basename(directory) == "zoneinfo"  # noqa: PTH119 - shutil hands over a string
    return {"posix", "right", "posixrules", "localtime"} & set(names) if at_the_top else set()
