"""
A server of Google's storage protocol for tests: fake-gcs-server, and in front of it what it does not speak.

It answers reads, ranges, listings and deletions of the XML API, which obstore uses, but takes no objects by it: neither
whole, nor in parts, nor as copies; and it ignores `If-None-Match`. `_Front` translates the three as Google documents
them, into the JSON API that it takes objects by, answers the fourth, and passes everything else on as it is. It also
refuses who has not the right token.
"""

import hashlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.etree import ElementTree as ET

import httpx2
from local_server import started, stopped

TOKEN = "tests-have-no-secrets"
LEAST_PART = 5 * 1024 * 1024
_HOP = frozenset({"connection", "content-length", "transfer-encoding", "keep-alive", "host", "accept-encoding"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered to one request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class GcsServer:
    """A server, reached at `endpoint` while it runs."""

    behind: httpx2.Client
    endpoint: str = ""
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    numbers: "count[int]" = field(default_factory=count)

    def bucket(self) -> str:
        """The URL of a new, empty bucket."""
        name = f"bucket{next(self.numbers)}"
        made = self.behind.post("/storage/v1/b?project=tests", json={"name": name})
        assert made.status_code == HTTPStatus.OK, made.text
        return f"gs://{name}"

    def environment(self, endpoint: str = "") -> Mapping[str, str]:
        """What a client finds it by; `endpoint` is where it is reached, when not directly."""
        return {
            "GOOGLE_BASE_URL": endpoint or self.endpoint,
            "GOOGLE_BEARER_TOKEN": TOKEN,
            "GOOGLE_ALLOW_HTTP": "true",
        }

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one request of the XML API."""
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return Answer(HTTPStatus.UNAUTHORIZED)
        place = urlsplit(target)
        bucket, _, quoted = place.path.lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(place.query, keep_blank_values=True).items()}
        if not quoted or method in {"GET", "HEAD"} or (method == "DELETE" and not query):
            return self._passed_on(method, target, headers, body)
        if any(name.startswith("x-goog-if-") for name in headers):
            return Answer(HTTPStatus.NOT_IMPLEMENTED, b"conditions are not translated")
        if "x-goog-copy-source" in headers:
            return self._copied(headers["x-goog-copy-source"], bucket, quoted)
        if query:
            return self._in_parts(method, query, body, bucket, quoted)
        return self._stored(bucket, quoted, body) if method == "PUT" else Answer(HTTPStatus.NOT_IMPLEMENTED)

    def _passed_on(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        kept = {name: value for name, value in headers.items() if name not in _HOP}
        with self.behind.stream(method, target, headers=kept, content=body) as said:
            raw = b"".join(said.iter_raw())
            of_body = {"content-length"} if method == "HEAD" else set()
            shown = {name: value for name, value in said.headers.items() if name not in _HOP - of_body}
            if said.headers.get("etag", "") == headers.get("if-none-match"):
                return Answer(HTTPStatus.NOT_MODIFIED, headers={"ETag": said.headers["etag"]})
            return Answer(said.status_code, raw, shown)

    def _stored(self, bucket: str, quoted: str, data: bytes) -> Answer:
        at = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(unquote(quoted), safe='')}"
        return _of_json(self.behind.post(at, content=data))

    def _copied(self, source: str, bucket: str, quoted: str) -> Answer:
        from_bucket, _, from_name = source.lstrip("/").partition("/")
        names = (quote(unquote(name), safe="") for name in (from_name, quoted))
        from_name, name = names
        return _of_json(self.behind.post(f"/storage/v1/b/{from_bucket}/o/{from_name}/rewriteTo/b/{bucket}/o/{name}"))

    def _in_parts(self, method: str, query: Mapping[str, str], body: bytes, bucket: str, quoted: str) -> Answer:
        if method == "POST" and "uploads" in query:
            if self.behind.get(f"/storage/v1/b/{bucket}").status_code != HTTPStatus.OK:
                return Answer(HTTPStatus.NOT_FOUND)
            upload = f"upload{next(self.numbers)}"
            self.uploads[upload] = {}
            named = _xml("InitiateMultipartUploadResult", Bucket=bucket, Key=unquote(quoted), UploadId=upload)
            return Answer(HTTPStatus.OK, named)
        parts = self.uploads.get(query["uploadId"])
        if parts is None:
            return Answer(HTTPStatus.NOT_FOUND)
        if method == "PUT":
            parts[int(query["partNumber"])] = body
            return Answer(HTTPStatus.OK, headers={"ETag": _tag(body)})
        del self.uploads[query["uploadId"]]
        return Answer(HTTPStatus.NO_CONTENT) if method == "DELETE" else self._whole(parts, body, bucket, quoted)

    def _whole(self, parts: Mapping[int, bytes], body: bytes, bucket: str, quoted: str) -> Answer:
        named = [(int(_text(part, "PartNumber")), _text(part, "ETag")) for part in ET.fromstring(body)]
        fit = [number for number, tag in named if number in parts and tag == _tag(parts[number])]
        short = any(len(parts[number]) < LEAST_PART for number in fit[:-1])
        if not fit or fit != sorted({number for number, _ in named}) or short:
            return Answer(HTTPStatus.BAD_REQUEST)
        stored = self._stored(bucket, quoted, b"".join(parts[number] for number in fit))
        done = _xml("CompleteMultipartUploadResult", Bucket=bucket, Key=unquote(quoted), ETag=stored.headers["ETag"])
        return Answer(HTTPStatus.OK, done, stored.headers)


class _Front(BaseHTTPRequestHandler):
    """Takes requests for `server`."""

    protocol_version = "HTTP/1.1"
    server: "_Listening"

    def do_GET(self) -> None:
        """Answer a request, whatever its method is."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        answer = self.server.gcs.answer(self.command, self.path, headers, body)
        self.send_response(answer.status)
        length = {} if "content-length" in answer.headers else {"content-length": str(len(answer.body))}
        for name, value in {**answer.headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def do_HEAD(self) -> None:
        """As above."""
        self.do_GET()

    def do_PUT(self) -> None:
        """As above."""
        self.do_GET()

    def do_POST(self) -> None:
        """As above."""
        self.do_GET()

    def do_DELETE(self) -> None:
        """As above."""
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, gcs: GcsServer) -> None:
        super().__init__(("127.0.0.1", 0), _Front)
        self.gcs = gcs
        gcs.endpoint = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """A client that breaks off is no fault of the test."""


@contextmanager
def running_gcs(program: Path) -> Iterator[GcsServer]:
    """A server of its own."""
    process: subprocess.Popen[bytes] | None = None
    with tempfile.TemporaryDirectory(prefix="il-gs-", dir="/tmp", ignore_cleanup_errors=True) as name:
        try:
            process, port = started(lambda at: _command(program, at), Path(name), {})
            with (
                httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as behind,
                _Listening(GcsServer(behind)) as listening,
            ):
                thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
                thread.start()
                try:
                    yield listening.gcs
                finally:
                    listening.shutdown()
                    thread.join()
        finally:
            stopped(process)


def _command(program: Path, port: int) -> tuple[str, ...]:
    where = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}")
    return (str(program), *where, "-backend", "memory", "-log-level", "warn")


def _of_json(said: httpx2.Response) -> Answer:
    if said.status_code != HTTPStatus.OK:
        return Answer(said.status_code)
    told = json.loads(said.content)
    told = told.get("resource", told)
    headers = {"ETag": f'"{told["etag"]}"', "x-goog-generation": told["generation"]}
    result = _xml("CopyObjectResult", ETag=told["etag"], LastModified=told["updated"])
    return Answer(HTTPStatus.OK, result, headers)


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _xml(kind: str, **fields: str) -> bytes:
    root = ET.Element(kind)
    for name, value in fields.items():
        ET.SubElement(root, name).text = value
    return bytes(ET.tostring(root, xml_declaration=True, encoding="utf-8"))


def _text(part: ET.Element, name: str) -> str:
    return next(child.text or "" for child in part if child.tag.rpartition("}")[2] == name)
