"""How a process is started that works on what others sent, and is to reach nothing of the gateway's (ENG-4, REL-7).

It stays in the gateway's session. Where the kernel shares the processor among sessions first (autogroups), a priority
counts only beside processes of the same one: in a session of its own, a runaway took as much as the whole gateway.
"""

import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ENTRY = Path(__file__).with_name("entry.py")


def start_isolated(
    script: Path, *arguments: object, environment: Mapping[str, str]
) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """Start a script in a bare interpreter; returns it with our end of the socket to it, which blocks.

    Its arguments are the descriptor of its own end, then `arguments`. It has no other descriptor but those of
    `/dev/null`, no environment but `environment`, no installed packages, no directory and no terminal of the gateway's,
    and no signal for the gateway's process group reaches it. Raises `OSError` when the system has no room for it.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own script, and no shell
                [sys.executable, "-I", "-S", "-B", *map(str, (ENTRY, script, theirs.fileno(), *arguments))],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Its input could read the environment through an engine, so nothing of the gateway's is in it; and an
                # interrupt from the terminal is the gateway's to handle.
                env=environment,
                cwd="/",
                process_group=0,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours
