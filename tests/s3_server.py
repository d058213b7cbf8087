"""An S3-compatible server for tests: versitygw, which keeps buckets as directories."""

import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from waiting import eventually_blocking

STARTING_S = 30.0
ACCESS_KEY, SECRET_KEY = "tests", "tests-have-no-secrets"
_TRIES = 5


@dataclass(slots=True)
class S3Server:
    """A server, reached at `endpoint` while it runs; its buckets are the directories in `root`."""

    program: Path
    directory: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def root(self) -> Path:
        """Where the buckets are."""
        return self.directory / "buckets"

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def bucket(self) -> str:
        """The name of a new, empty bucket."""
        for number in count():
            with suppress(FileExistsError):
                (self.root / f"bucket{number}").mkdir()
                return f"bucket{number}"
        raise AssertionError

    def environment(self, endpoint: str = "") -> Mapping[str, str]:
        """What a client finds it by; `endpoint` is where it is reached, when not directly."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT": endpoint or self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }

    def start(self) -> None:
        """Run it, at the port that it had before if it had one, and wait until it answers."""
        for _ in range(_TRIES):
            if self._started(self.port or _free_port()):
                return
        raise AssertionError(f"versitygw does not start: {(self.directory / 'log').read_text()[-300:]}")

    def stop(self) -> None:
        """End it, and every connection to it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(STARTING_S)

    def _started(self, port: int) -> bool:
        address = f"127.0.0.1:{port}"
        own = ("posix", "--sidecar", str(self.directory / "attributes"), str(self.root))
        environment = {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY}
        with (self.directory / "log").open("ab") as log:
            command = (str(self.program), "--port", address, "--quiet", "--keep-alive", *own)
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.directory)

        def decided() -> bool:
            return process.poll() is not None or _answers(port)

        eventually_blocking(decided, STARTING_S)
        if process.poll() is not None:
            return False
        self.port, self.process = port, process
        return True


@contextmanager
def running_s3(program: Path) -> Iterator[S3Server]:
    """A server of its own."""
    with tempfile.TemporaryDirectory(prefix="il-s3-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = S3Server(program, Path(name))
        for folder in ("buckets", "attributes"):
            (server.directory / folder).mkdir()
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    # Somebody may take it before the server does, which then ends; so the start is tried with others.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
