"""A real OPA server for tests: started on a Unix socket or a free port, ended, frozen and started again at will."""

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waiting import eventually_blocking

STARTING_S = 30.0


@dataclass(slots=True)
class OpaProcess:
    """One server at one address, `unix:PATH` or `http(s)://HOST:PORT`; it loses what it was given when it ends."""

    opa: Path
    url: str
    more: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Run it, and wait until it accepts connections."""
        address = f"unix://{self.path}" if self.path else self.url.rpartition("/")[2]
        arguments = [str(self.opa), "run", "--server", "--addr", address, "--log-level", "error"]
        self.process = subprocess.Popen(
            [*arguments, "--disable-telemetry", *self.more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually_blocking(self._accepts, STARTING_S)

    def stop(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.path:
            Path(self.path).unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let it do nothing any more, with every connection open."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What an operator would do there; the answer's JSON, `None` for an empty one."""
        connection = _Connection(self.path) if self.path else http.client.HTTPConnection(self.url.rpartition("/")[2])
        payload = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, payload)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        assert response.status < http.client.BAD_REQUEST, text
        return json.loads(text) if text else None

    def policies(self) -> list[str]:
        """The ids of the modules that it has."""
        return [one["id"] for one in self.ask("GET", "/v1/policies")["result"]]

    @property
    def ticks(self) -> int:
        """The processor time that it has used, in hundredths of a second."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    @property
    def path(self) -> str:
        """The socket's path; empty when it listens on a port."""
        return self.url.removeprefix("unix:") if self.url.startswith("unix:") else ""

    def _accepts(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "OPA ended while it started"
        host, _, port = self.url.rpartition("/")[2].rpartition(":")
        family = socket.AF_UNIX if self.path else socket.AF_INET
        with socket.socket(family) as client:
            return client.connect_ex(self.path or (host, int(port))) == 0


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=STARTING_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(STARTING_S)
        self.sock.connect(self._path)


@contextmanager
def running_opa(opa: Path, url: str, *more: str) -> Iterator[OpaProcess]:
    """A server inside the block."""
    server = OpaProcess(opa, url, more)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
