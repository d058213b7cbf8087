"""`interlock serve` with a failpoint: FAILPOINT (or `every`), COUNT, ACTION, FILE, then the arguments of `serve`.

Counts while FILE is there, and writes the failpoint's name into it when it is reached for the COUNT-th time.
"""

import os
import sys
from functools import partial
from pathlib import Path

from failpoints import EVERY, FAILPOINTS, Action, arm, at
from interlock_gateway.cli.main import main


def _told_in(path: Path, name: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{name}\n".encode())
    os.close(descriptor)


if __name__ == "__main__":
    script, wanted, count, action, file, *rest = sys.argv
    path = Path(file)
    for name in FAILPOINTS if wanted == EVERY else [wanted]:
        arm(name, at(int(count), Action(action), partial(_told_in, path, name), path.exists))
    sys.argv = [script, *rest]
    main()
