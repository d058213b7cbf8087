"""What goes to the other host before it can answer: a few lines that start, and the modules that they start.

Nothing is written there: the modules are an archive in that process's memory.
"""

import io
import pkgutil
import zipfile

OLDEST_PYTHON = (3, 11)
NO_PYTHON = b"\nINTERLOCK-NO-PYTHON\n"
NO_LINUX = b"\nINTERLOCK-NO-LINUX\n"

SHIPPED = {
    "interlock": ("beneath",),
    "interlock.toolbox": (
        *("errors", "expressions", "line_worker", "local", "local_files", "local_shell", "local_tree", "local_vault"),
        *("operations", "process_groups", "resolving", "searching"),
    ),
    "interlock.toolbox.remote": ("far_calls", "far_end", "frames", "one_end"),
}
"""The modules that run there. They import each other and the standard library, and nothing else."""

_INTERPRETERS = "python3 python3.14 python3.13 python3.12 python3.11"
_START = "import sys;f=sys.stdin.buffer;exec(f.read(int(f.read(8))))"

# Read by sh, whatever shell the user has there. The first interpreter that is new enough becomes the process.
COMMAND = (
    f"exec sh -c 'for p in {_INTERPRETERS}; do "
    f'if "$p" -I -S -c "import sys;sys.exit(sys.version_info<{OLDEST_PYTHON})" </dev/null >/dev/null 2>&1; then '
    f'exec "$p" -I -S -X utf8 -c "{_START}"; fi; done; printf "\\nINTERLOCK-NO-PYTHON\\n"\''
)

_BOOTSTRAP = b"""
import os, sys
if sys.platform != "linux" or not hasattr(os, "memfd_create") or not os.path.isdir("/proc/self/fd"):
    os.write(1, b"\\nINTERLOCK-NO-LINUX\\n")
    os._exit(1)
archive = os.memfd_create("interlock")
with os.fdopen(os.dup(archive), "wb") as whole:
    whole.write(f.read(int(f.read(8))))
sys.path.insert(0, "/proc/self/fd/%d" % archive)
from interlock.toolbox.remote.far_end import main
main(f)
"""


def shipment() -> bytes:
    """What the command's standard input begins with."""
    archive = archived()
    return b"%8d%b%8d%b" % (len(_BOOTSTRAP), _BOOTSTRAP, len(archive), archive)


def archived() -> bytes:
    """The modules as a zip archive."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for package, modules in SHIPPED.items():
            folder = package.replace(".", "/")
            archive.writestr(f"{folder}/__init__.py", "")
            for module in modules:
                source = pkgutil.get_data(package, f"{module}.py")
                if source is None:
                    raise FileNotFoundError(f"{package}.{module} has no source here to be sent")
                archive.writestr(f"{folder}/{module}.py", source)
    return whole.getvalue()
