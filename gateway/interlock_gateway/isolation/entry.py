"""Runs a script in a process of its own, once that has no controlling terminal: `entry.py SCRIPT ARGUMENT...`.

It imports none of our own modules. Whoever has a terminal can type into it; a new session would have none, but would
be apart from the gateway's also where priorities are weighed.
"""

import errno
import os
import sys

NO_TERMINAL = frozenset((errno.ENXIO, errno.ENOENT))


def give_up_terminal() -> None:
    """Have no controlling terminal, and no way to one. Raises `OSError` when that cannot be had."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        if error.errno in NO_TERMINAL:
            return
        raise
    import fcntl  # noqa: PLC0415 - what these cost is memory, and a gateway in service has no terminal
    import termios  # noqa: PLC0415 - as above

    fcntl.ioctl(terminal, termios.TIOCNOTTY)
    os.close(terminal)


def main() -> None:
    """Become the script."""
    give_up_terminal()
    del sys.argv[0]
    with open(sys.argv[0], "rb") as script:  # noqa: PTH123 - pathlib is not worth its memory here
        code = compile(script.read(), sys.argv[0], "exec")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - one of our own scripts, named by the gateway


if __name__ == "__main__":
    main()
