"""An HTTP server that gives out a bundle, and notes how it was asked."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class BundleServer:
    """What is given out, and what was asked; `answer` replaces all of it."""

    content: bytes = b""
    etag: str = '"1"'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    answer: Callable[[BaseHTTPRequestHandler], None] | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    address: str = ""

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append({name.lower(): value for name, value in request.headers.items()})
        self.paths.append(request.path)
        if self.answer is not None:
            self.answer(request)
            return
        known = self.etag and request.headers.get("If-None-Match") == self.etag
        status, content = (304, b"") if known else (self.status, self.content)
        request.send_response(status)
        for name, value in {"ETag": self.etag, **self.headers, "Content-Length": str(len(content))}.items():
            if value:
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)


@contextmanager
def serving(chain: Path | None = None, key: Path | None = None) -> Iterator[BundleServer]:
    """The server on a free port of this machine, with TLS when there is a certificate."""
    bundle = BundleServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            bundle.handle(self)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """A client that breaks off is no fault of the test."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bundle.address = f"{'https' if chain else 'http'}://127.0.0.1:{server.server_port}"
    if chain is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        # The handshake is left to the connection's own thread, which may see it fail.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bundle
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
