"""A web site on this machine: a page, data, a redirect, and a part that its robots.txt keeps robots out of."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROBOTS = "User-agent: *\nDisallow: /private/\n"
PAGE = (
    "<html><head><title>A page</title></head><body><article><h1>Heading</h1>"
    + "<p>Some words that make a paragraph, with a <a href='/data.json'>link</a>.</p>" * 5
    + "</article></body></html>"
)
PAGES = {
    "/robots.txt": ("text/plain", ROBOTS),
    "/page.html": ("text/html; charset=utf-8", PAGE),
    "/private/page.html": ("text/html", PAGE),
    "/data.json": ("application/json", '{"big": 9007199254740993, "ü": [1.0, null]}'),
}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/data.json")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        kind, text = PAGES.get(self.path, ("text/plain", "there is no such page"))
        body = text.encode()
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def local_site() -> Iterator[str]:
    """The site's address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
