"""The real OPA as a server on a socket: asked as the gateway asks it, strictly."""

import http.client
import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waiting import eventually_blocking

_ANSWER_S = 30.0


class OpaServer:
    """OPA's REST API, as far as the fuzzer needs it."""

    def __init__(self, path: Path) -> None:
        self._connection = _Connection(path)

    def put_data(self, data: Any) -> None:
        """Replace all data."""
        status, answered = self._ask("PUT", "/v1/data", data)
        assert status < http.client.BAD_REQUEST, answered

    def put_policy(self, name: str, source: str) -> str:
        """Load a module; what OPA has against it, or nothing."""
        status, answered = self._ask("PUT", f"/v1/policies/{name}", source.encode())
        if status == http.client.OK:
            return ""
        errors = answered.get("errors") or [answered]
        return "; ".join(str(error.get("message")) for error in errors)

    def delete_policy(self, name: str) -> None:
        """Forget a module."""
        self._ask("DELETE", f"/v1/policies/{name}", None)

    def evaluate(self, path: str, document: Any) -> dict[str, Any]:
        """{"values": [...]}, none when undefined, or {"failed": "error", "words": ...}."""
        status, answered = self._ask("POST", f"/v1/data/{path}?strict-builtin-errors=true", {"input": document})
        if status != http.client.OK:
            errors = answered.get("errors") or [answered]
            return {"failed": "error", "words": str(errors[0].get("message"))}
        return {"values": [answered["result"]] if "result" in answered else []}

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, payload)
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_ANSWER_S)
        self.sock.connect(self._path)


@contextmanager
def running_opa(opa: Path) -> Iterator[OpaServer]:
    """A server of its own, ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as scratch:
        path = Path(scratch) / "opa.sock"
        arguments = [
            str(opa),
            "run",
            "--server",
            "--addr",
            f"unix://{path}",
            "--log-level",
            "error",
            "--disable-telemetry",
        ]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually_blocking(lambda: path.exists() or process.poll() is not None)
            assert process.poll() is None, "OPA ended"
            server = OpaServer(path)
            try:
                yield server
            finally:
                server.close()
        finally:
            process.terminate()
            process.wait()
