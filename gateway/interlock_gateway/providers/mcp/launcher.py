"""Runs an MCP server's command, and ends it with everything it started when the gateway is gone, however it went.

A script: `python -I -S -B launcher.py GATEWAY_PID COMMAND...`, in a process group of its own. It knows nothing of the
gateway, holds none of the server's pipes, and exits as the command did.
"""

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
GRACE_S = 2.0
NOT_FOUND = 127
_POLL_S = 0.02


def main() -> int:
    """Start the command, wait for it, and leave nothing of its group behind."""
    gateway, command = int(sys.argv[1]), sys.argv[2:]
    die_with_parent(signal.SIGTERM)
    if os.getppid() != gateway:
        return NOT_FOUND  # it was gone before this could ask to be told
    signal.signal(signal.SIGTERM, end_all)
    child = os.fork()
    if child == 0:
        run(command)
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    return code if code >= 0 else 128 - code


def run(command: list[str]) -> None:
    """Become the command."""
    die_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator's own command, and no shell
    except OSError as error:
        os.write(2, f"{command[0]} cannot be run: {error.strerror}\n".encode())
        os._exit(NOT_FOUND)


def die_with_parent(number: int) -> None:
    """Be sent `number` when the process that started this one ends."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:  # only Linux has it
        prctl(PR_SET_PDEATHSIG, int(number))


def end_all(_number: int, _frame: object) -> None:
    """Ask everything in the group to end, and make it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                break
        except ChildProcessError:
            break
        time.sleep(_POLL_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
