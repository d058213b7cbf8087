"""The part of the configuration about what operators see: metrics, traces, log lines (OBS-1, OBS-2)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from interlock_gateway.config_section import Section


class MetricsConfig(Section):
    """Prometheus metrics."""

    listen: str = "127.0.0.1:9464"
    """`HOST:PORT` of `/metrics`; empty switches it off, port 0 picks a free one."""


class TracingConfig(Section):
    """Traces, sent to an OpenTelemetry collector over OTLP/HTTP. Off without an endpoint."""

    endpoint: Annotated[str, Field(max_length=2048)] = ""
    """Where the collector listens, such as `http://127.0.0.1:4318`; empty switches tracing off. `/v1/traces` is added
    when there is no path."""
    headers_file: Path | None = None
    """A file with headers for the collector, a line each: `name: value`. It is read at the start."""
    ca_file: Path | None = None
    """The authorities, in PEM, that the collector's certificate is checked against; without one, the system's."""
    cert_file: Path | None = None
    """The gateway's own certificate, in PEM, for a collector that asks for one."""
    key_file: Path | None = None
    """The key of `cert_file`, unless the same file holds it."""
    service_name: Annotated[str, Field(min_length=1, max_length=256)] = "interlock-gateway"
    """The `service.name` of its spans."""
    sample_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The part of the calls that is traced, of those whose callers say nothing about it."""
    follow_parent: bool = True
    """Trace a call if its caller says that it does, and not if it says that it does not. Off: only the ratio counts."""
    always: tuple[Literal["denied", "destructive"], ...] = ("denied", "destructive")
    """Calls that are traced whatever their caller and the ratio say."""
    queue: Annotated[int, Field(ge=100, le=1_000_000)] = 8192
    """Spans that wait to be sent; more are dropped and counted, and no call ever waits."""
    batch: Annotated[int, Field(ge=1, le=10_000)] = 512
    """Spans sent in one request, at most."""
    delay_s: Annotated[float, Field(ge=0.01, le=60)] = 1.0
    """How long a span waits for others, at most."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    """How long one request may take, with what is tried again."""

    @field_validator("endpoint")
    @classmethod
    def _is_an_address_over_http(cls, endpoint: str) -> str:
        if not endpoint:
            return endpoint
        scheme, _, rest = endpoint.partition("://")
        if scheme not in ("http", "https") or not rest or any(not 0x21 <= ord(char) <= 0x7E for char in rest):  # noqa: PLR2004 - printable ASCII
            raise ValueError("it is http://HOST:PORT or https://HOST:PORT, with or without a path")
        if "@" in rest.partition("/")[0]:
            raise ValueError("it holds no user and no password: use headers_file")
        return endpoint

    @property
    def url(self) -> str:
        """Where spans are posted."""
        _, _, rest = self.endpoint.partition("://")
        return self.endpoint if rest.partition("/")[2] else f"{self.endpoint.rstrip('/')}/v1/traces"


class LogsConfig(Section):
    """Log lines, one JSON object each, on standard error."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """The least level that is written; `interlock serve --log-level` goes before it."""
