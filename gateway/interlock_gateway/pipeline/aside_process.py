"""A process that works on inputs in the gateway's place, seen from the gateway: how it begins and ends."""

import contextlib
import importlib.util
import socket
import subprocess
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from interlock_gateway.isolation.priority import go_behind
from interlock_gateway.isolation.process import start_isolated
from interlock_gateway.pipeline import aside_worker

SCRIPT = Path(aside_worker.__file__)


class AsideProcess:
    """One process, and our end of the `connection` to it, which blocks. It ends with `end`, or with this object."""

    def __init__(self, worker: ModuleType, *, memory_bytes: int = 0, environment: Mapping[str, str]) -> None:
        """Start it, to answer with `worker`, in so much memory (0 for any), behind whoever waits for a small call.

        Raises `OSError` when the system has no room for a process.
        """
        arguments = (worker.__name__, memory_bytes, *_directories())
        process, self.connection = start_isolated(SCRIPT, *arguments, environment=environment)
        self.process_id = process.pid
        self.end = weakref.finalize(self, _end, process, self.connection)
        go_behind(process.pid)


@cache
def _directories() -> tuple[str, ...]:
    """Where what the process imports lies."""
    found = [importlib.util.find_spec(name) for name in ("interlock_gateway", "rfc8785", "jsonschema_rs")]
    return tuple(dict.fromkeys(str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin))


def _end(process: "subprocess.Popen[bytes]", connection: socket.socket) -> None:
    connection.close()
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
