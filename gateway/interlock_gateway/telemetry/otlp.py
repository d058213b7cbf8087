"""Spans on their way to a collector: a bounded queue, and a thread that empties it over OTLP/HTTP (OBS-2).

The one module that sends with OpenTelemetry's libraries, loaded only where tracing is configured: they take 10 MiB.
"""

import logging
import ssl
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.sdk.resources import Resource as ResourceAround

from interlock_gateway.config_telemetry import TracingConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.telemetry.otlp_encoding import attributes, encoded
from interlock_gateway.telemetry.spans import SpanRecord

LAST_WORDS_S = 2.0
"""How long the spans that are left may take to leave when the gateway ends."""
_log = logging.getLogger(__name__)
# What it has to say of a collector that is gone is said here, once, and not for every batch.
for _name in ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.exporter.otlp.common.http"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class SpanQueue:
    """Takes spans without waiting, and sends them from a thread of its own.

    `sent`, `dropped` (there was no room) and `failed` (the collector did not take them) count spans since the start.
    """

    def __init__(self, config: TracingConfig, sender: "Sender", resource: Resource) -> None:
        self.sent = 0
        self.dropped = 0
        self.failed = 0
        self._config = config
        self._sender = sender
        self._resource = resource
        self._scope = InstrumentationScope(name="interlock_gateway", version=version("interlock-gateway"))
        self._waiting: deque[SpanRecord] = deque()
        self._wake = threading.Event()
        self._ending = False
        self._reached = True
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Spans that have not been sent yet."""
        return len(self._waiting)

    def offer(self, spans: list[SpanRecord]) -> None:
        """Take the spans of one call, whole or not at all; called on the event loop alone."""
        if self._ending or len(self._waiting) + len(spans) > self._config.queue:
            self.dropped += len(spans)
            return
        self._waiting.extend(spans)
        if len(self._waiting) >= self._config.batch:
            self._wake.set()

    def close(self) -> None:
        """Send what is left, for as long as there is time; called from another thread than the loop's."""
        self._ending = True
        self._wake.set()
        self._thread.join(LAST_WORDS_S)
        self._sender.close()
        self._thread.join(LAST_WORDS_S)
        self.dropped += len(self._waiting)

    def _run(self) -> None:
        while not self._ending:
            self._wake.wait(self._config.delay_s)
            self._wake.clear()
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), self._config.batch)
            self._send([self._waiting.popleft() for _ in range(count)])

    def _send(self, batch: Sequence[SpanRecord]) -> None:
        try:
            reached = self._sender.post(encoded(batch, self._resource, self._scope))
        except Exception:  # noqa: BLE001 - a thread that ended would send no span ever again
            _log.exception("spans cannot be sent")
            reached = False
        if reached:
            self.sent += len(batch)
        else:
            self.failed += len(batch)
        if reached != self._reached:
            self._reached = reached
            if reached:
                _log.info("spans reach the collector again", extra={"lost": self.failed + self.dropped})
            else:
                _log.warning("spans do not reach the collector", extra={"endpoint": self._config.url})


class Sender(OTLPSpanExporter):
    """OpenTelemetry's exporter, for requests that are encoded already: connections, TLS, and what is tried again."""

    def post(self, request: bytes) -> bool:
        """Whether the collector took it; tried until `timeout_s` is over."""
        return self._client.export(request).success

    def close(self) -> None:
        """Give up what is under way, and close the connections."""
        self.shutdown()  # type: ignore[no-untyped-call]  # the library gives it no types


def open_span_queue(config: TracingConfig, replica: str) -> SpanQueue:
    """The queue that `config` asks for. Raises `ConfigError` when a file that it names cannot be read."""
    around = ResourceAround.create(
        {
            "service.name": config.service_name,
            "service.version": version("interlock-gateway"),
            "service.instance.id": replica,
        }
    )
    resource = Resource(attributes=attributes({key: str(value) for key, value in around.attributes.items()}))
    sender = Sender(
        endpoint=config.url,
        certificate_file=_file(config.ca_file, "ca_file") or ssl.get_default_verify_paths().cafile,
        client_certificate_file=_file(config.cert_file, "cert_file"),
        client_key_file=_file(config.key_file, "key_file"),
        headers=read_headers(config.headers_file),
        timeout=config.timeout_s,
        compression=Compression.Gzip,
        session=_session(),
    )
    return SpanQueue(config, sender, resource)


class _HereOnly(requests.Session):
    """Goes nowhere else: the headers of `headers_file` are for the collector that is configured."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Nowhere. Raises `TooManyRedirects` for a redirect, which counts as spans that were not taken."""
        if resp.is_redirect:
            resp.close()
            raise requests.TooManyRedirects("the collector sends us elsewhere")


def _session() -> requests.Session:
    """Connections that go by the configuration alone: `REQUESTS_CA_BUNDLE` would go before `ca_file`, `.netrc` too."""
    session = _HereOnly()
    session.trust_env = False
    return session


def read_headers(path: Path | None) -> Mapping[str, str]:
    """The headers in a file, a line `name: value` each; blank lines and those that begin with `#` say nothing.

    Raises `ConfigError` with the line's number, and never with what it holds.
    """
    if path is None:
        return MappingProxyType({})
    headers: dict[str, str] = {}
    try:
        lines = path.expanduser().read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it holds more than ASCII"
        raise ConfigError(f"tracing.headers_file cannot be read: {why}") from None
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if not colon or not name.strip().replace("-", "").isalnum() or not value.strip().isprintable():
            raise ConfigError(f"tracing.headers_file, line {number}: it is not `name: value`")
        headers[name.strip().lower()] = value.strip()
    return headers


def _file(path: Path | None, name: str) -> str | None:
    if path is None:
        return None
    if not path.expanduser().is_file():
        raise ConfigError(f"tracing.{name} is not a file that can be read")
    return str(path.expanduser())
