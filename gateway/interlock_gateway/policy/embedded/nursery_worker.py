"""A process that holds the policies and never evaluates: for each worker that is wanted it becomes two (decision 0129).

It is started as a script, as `worker.py` is. Arguments: the socket's descriptor, the directories of our own package
and of the engine's, then what a worker is told: the rule, its bytes of memory, its seconds. The first frame holds the
policies and is answered as a worker answers it. Then comes a byte for each worker that is wanted, and with it the
worker's end of its socket; the answer is the worker's process id, in its own words, so that none can be there that did
not give it; or 0 when the system has no room for one.
"""

import array
import ctypes
import os
import platform
import socket
import sys
from collections.abc import Callable

PID_BYTES = 4
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT, _SIGCHLD = 0x8000, 17


def serve(connection: socket.socket, grow_up: Callable[[int], None]) -> None:
    """Become two for each that is asked for, until the gateway is gone."""
    space = socket.CMSG_SPACE(array.array("i").itemsize)
    clone = ctypes.CDLL(None).syscall
    while True:
        asked, received, _, _ = connection.recvmsg(1, space)
        if not asked:
            return
        descriptor = array.array("i", received[0][2])[0]
        # Its parent is the gateway, which alone knows when it is to be ended. A plain fork would make it ours. Nothing
        # is lost by leaving the C library and the interpreter out: this process has one thread, and so has that one.
        process_id = clone(_CLONE[platform.machine()], _CLONE_PARENT | _SIGCHLD, 0, 0, 0, 0)
        if process_id == 0:
            _say(connection, os.getpid())
            connection.close()
            grow_up(descriptor)
            os._exit(0)
        os.close(descriptor)
        if process_id < 0:
            _say(connection, 0)


def _say(connection: socket.socket, process_id: int) -> None:
    connection.sendall(process_id.to_bytes(PID_BYTES, "little"))


def main() -> None:
    """Run as a script."""
    descriptor, package_directory, engine_directory, rule, address_space, processor_seconds = sys.argv[1:]
    sys.path += [package_directory, engine_directory]
    from interlock_gateway.policy.embedded import worker  # noqa: PLC0415 - found only once the path to it is set

    loaded = worker.load(int(descriptor), worker.frames(int(descriptor)))
    if loaded is None:
        return

    def grow_up(own: int) -> None:
        worker.limit_resources(int(address_space))
        worker.send(own, worker.OK, b"")
        requests, seconds = worker.frames(own), float(processor_seconds)
        worker.evaluate(own, requests, *loaded, rule=rule, processor_seconds=seconds)

    with socket.socket(fileno=int(descriptor)) as connection:
        serve(connection, grow_up)


if __name__ == "__main__":
    main()
