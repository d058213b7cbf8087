"""Programs that tests run as servers, each at a port of this machine that was free."""

import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from waiting import eventually_blocking

STARTING_S = 60.0
_TRIES = 5


def started(
    command: Callable[[int], Sequence[str]], directory: Path, environment: Mapping[str, str], port: int = 0
) -> tuple["subprocess.Popen[bytes]", int]:
    """Run `command` of a port in `directory` until it answers there; what it prints is in the file `log`.

    At `port` when that is given. Raises AssertionError when it ends instead.
    """
    for _ in range(_TRIES):
        # Somebody may take a free one before the server does, which then ends; so the start is tried with others.
        at = port or _free_port()
        with (directory / "log").open("ab") as log:
            process = subprocess.Popen(command(at), stdout=log, stderr=log, env=environment, cwd=directory)
        eventually_blocking(partial(_decided, process, at), STARTING_S)
        if process.poll() is None:
            return process, at
    raise AssertionError(f"{command(port)[0]} does not start: {(directory / 'log').read_text()[-300:]}")


def stopped(process: "subprocess.Popen[bytes] | None") -> None:
    """End it, and every connection to it."""
    if process is not None:
        process.send_signal(signal.SIGKILL)
        process.wait(STARTING_S)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _decided(process: "subprocess.Popen[bytes]", port: int) -> bool:
    return process.poll() is not None or _answers(port)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
