"""An HTTP server that gives out a bundle, and notes how it was asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
def serving() -> Iterator[BundleServer]:
    """The server on a free port of this machine."""
    bundle = BundleServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            bundle.handle(self)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bundle.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bundle
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
