"""A stand-in for an OpenTelemetry collector: takes OTLP over HTTP as a real one does, and decodes what came."""

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

_KINDS = {Span.SPAN_KIND_SERVER: "server", Span.SPAN_KIND_CLIENT: "client", Span.SPAN_KIND_INTERNAL: "internal"}


@dataclass(frozen=True)
class Received:
    """One span as it came."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    failed: bool
    attributes: dict[str, Any]
    links: tuple[str, ...]
    began_ns: int
    ended_ns: int


@dataclass
class Collector:
    """What came. `answers` is the HTTP status of what comes next, `elsewhere` where it sends whoever asks."""

    port: int = 0
    scheme: str = "http"
    answers: int = 200
    elsewhere: str = ""
    requests: int = 0
    spans: list[Received] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: bytes = b""
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def named(self, name: str) -> list[Received]:
        """The spans of that name."""
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> None:
        """One request."""
        self.raw += body
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append({one.key: _value(one.value) for one in of_resource.resource.attributes})
            for of_scope in of_resource.scope_spans:
                self.spans += [_read(span) for span in of_scope.spans]


def _read(span: Span) -> Received:
    return Received(
        name=span.name,
        kind=_KINDS[span.kind],
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        failed=span.status.code == Status.STATUS_CODE_ERROR,
        attributes={one.key: _value(one.value) for one in span.attributes},
        links=tuple(link.span_id.hex() for link in span.links),
        began_ns=span.start_time_unix_nano,
        ended_ns=span.end_time_unix_nano,
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


@contextmanager
def collecting(*, held: bool = False, tls: ssl.SSLContext | None = None) -> Iterator[Collector]:
    """A collector on a free port; `held` ones answer nobody until they are released."""
    collector = Collector()
    if not held:
        collector.released.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.requests += 1
            collector.released.wait()
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            if collector.answers == 200 and self.path == "/v1/traces":
                collector.take(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(collector.answers if self.path == "/v1/traces" else 404)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            if collector.elsewhere:
                self.send_header("location", collector.elsewhere)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it overrides
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        collector.scheme = "https"
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    collector.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
