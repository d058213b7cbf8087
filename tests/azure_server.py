"""A server of Azure's blob protocol for tests: Azurite, Microsoft's own, which keeps everything in memory."""

import base64
import hashlib
import hmac
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from itertools import count
from pathlib import Path

import httpx2
from local_server import started, stopped
from node_programs import npm_program

ACCOUNT, KEY = "tests", base64.b64encode(b"tests-have-no-secrets").decode()
_VERSION = "2021-12-02"
_NAMES = count()


@dataclass(slots=True)
class AzureServer:
    """A server, reached at `endpoint` while it runs; it checks signatures, and reports nothing to anybody."""

    program: Sequence[str]
    directory: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def endpoint(self) -> str:
        """The address of the account."""
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    def bucket(self) -> str:
        """The URL of a new, empty container."""
        name = f"container{next(_NAMES)}"
        date = formatdate(usegmt=True)
        headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
        said = f"PUT{12 * chr(10)}{headers}/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), said.encode(), hashlib.sha256)).decode()
        made = httpx2.put(
            f"{self.endpoint}/{name}?restype=container",
            headers={
                "x-ms-date": date,
                "x-ms-version": _VERSION,
                "authorization": f"SharedKey {ACCOUNT}:{signature}",
            },
        )
        assert made.status_code == 201, made.text
        return f"az://{name}"

    def environment(self, endpoint: str = "") -> Mapping[str, str]:
        """What a client finds it by; `endpoint` is where it is reached, when not directly."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": endpoint or self.endpoint,
            "AZURE_ALLOW_HTTP": "true",
        }


@contextmanager
def running_azure() -> Iterator[AzureServer]:
    """A server of its own; the test is skipped where it is not installed."""
    program = npm_program("azurite", "dist/src/blob/main.js", "azurite")
    with tempfile.TemporaryDirectory(prefix="il-az-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = AzureServer(program, Path(name))
        environment = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
        kept = ("--inMemoryPersistence", "--disableTelemetry", "--loose", "--silent", "--blobPort")
        try:
            server.process, server.port = started(
                lambda port: (*program, *kept, str(port)), server.directory, environment
            )
            yield server
        finally:
            stopped(server.process)
