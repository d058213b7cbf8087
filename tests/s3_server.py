"""An S3-compatible server for tests: versitygw, which keeps buckets as directories."""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from local_server import started, stopped

ACCESS_KEY, SECRET_KEY = "tests", "tests-have-no-secrets"


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
        environment = {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY}
        self.process, self.port = started(self._command, self.directory, environment, self.port)

    def stop(self) -> None:
        """End it, and every connection to it."""
        stopped(self.process)

    def _command(self, port: int) -> Sequence[str]:
        own = ("posix", "--sidecar", str(self.directory / "attributes"), str(self.root))
        return (str(self.program), "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive", *own)


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
