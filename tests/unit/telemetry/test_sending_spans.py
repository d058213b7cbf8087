"""Spans on their way to a collector: what is sent, over what, and what a collector in trouble costs (OBS-2)."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
from interlock_gateway.config_telemetry import TracingConfig
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import ConfigError
from interlock_gateway.telemetry.otlp import SpanQueue, open_span_queue
from interlock_gateway.telemetry.spans import SpanRecord
from otlp_collector import Collector, collecting
from pydantic import ValidationError
from waiting import eventually_blocking

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(number: int = 1) -> SpanRecord:
    return SpanRecord(
        name="execute_tool echo",
        kind="server",
        context=TraceContext(TRACE, f"{number:016x}", 1, "vendor=1"),
        parent_id="b7ad6b7169203331",
        remote_parent=True,
        began_ns=1_000_000_000,
        ended_ns=2_000_000_000,
        attributes={"a": "text", "b": True, "c": 3, "d": 0.5, "e": ("x", "y")},
        links=(TraceContext(TRACE, "1" * 16, 1),),
        error="failed",
    )


@contextmanager
def queue(collector: Collector, endpoint: str = "", **tracing: object) -> Iterator[SpanQueue]:
    config = TracingConfig.model_validate({"endpoint": endpoint or collector.endpoint, "delay_s": 0.01, **tracing})
    made = open_span_queue(config, "replica-1")
    try:
        yield made
    finally:
        collector.released.set()
        made.close()


@pytest.mark.req("OBS-2")
def test_a_span_arrives_as_it_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    headers = tmp_path / "headers"
    headers.write_text("# for the collector\nx-scope-orgid: team-7\n\nauthorization: Bearer abc\n")
    with collecting() as collector, queue(collector, headers_file=headers, service_name="mine") as spans:
        spans.offer([span()])
        eventually_blocking(lambda: bool(collector.spans))
        eventually_blocking(lambda: spans.sent == 1)
    (found,) = collector.spans
    assert (found.name, found.kind, found.failed) == ("execute_tool echo", "server", True)
    assert (found.trace_id, found.parent_id, found.links) == (TRACE, "b7ad6b7169203331", ("1" * 16,))
    assert (found.began_ns, found.ended_ns) == (1_000_000_000, 2_000_000_000)
    assert found.attributes == {"a": "text", "b": True, "c": 3, "d": 0.5, "e": ["x", "y"]}
    assert collector.headers[0]["x-scope-orgid"] == "team-7"
    assert collector.headers[0]["authorization"] == "Bearer abc"
    resource = collector.resources[0]
    assert (resource["service.name"], resource["service.instance.id"]) == ("mine", "replica-1")
    assert resource["deployment.environment.name"] == "test"


@pytest.mark.req("OBS-2")
def test_a_collector_over_tls_is_checked_against_the_named_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, other = trustme.CA(), trustme.CA()
    other.cert_pem.write_to_path(tmp_path / "environment.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "environment.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    for name, one in (("right.pem", authority), ("wrong.pem", other)):
        one.cert_pem.write_to_path(tmp_path / name)
    with collecting(tls=tls) as collector:
        with queue(collector, ca_file=tmp_path / "right.pem") as spans:
            spans.offer([span()])
            eventually_blocking(lambda: spans.sent == 1)
        with queue(collector, ca_file=tmp_path / "wrong.pem", timeout_s=0.2) as spans:
            spans.offer([span()])
            eventually_blocking(lambda: spans.failed == 1)
    assert len(collector.spans) == 1


@pytest.mark.req("OBS-2")
@pytest.mark.parametrize("status", [301, 307, 308])
def test_spans_and_their_headers_go_to_nobody_that_a_collector_names(tmp_path: Path, status: int) -> None:
    headers = tmp_path / "headers"
    headers.write_text("x-api-key: abc\n")
    with (
        collecting() as other,
        collecting() as collector,
        queue(collector, headers_file=headers, timeout_s=0.2) as spans,
    ):
        collector.answers, collector.elsewhere = status, f"{other.endpoint}/v1/traces"
        spans.offer([span()])
        eventually_blocking(lambda: spans.failed == 1)
    assert other.requests == 0


@pytest.mark.req("OBS-2")
def test_a_full_queue_drops_whole_calls_and_counts_their_spans() -> None:
    with collecting(held=True) as collector, queue(collector, queue=100, batch=1000) as spans:
        for number in range(30):
            spans.offer([span(number), span(number + 100), span(number + 200), span(number + 300)])
        assert spans.waiting <= 100
        assert spans.waiting % 4 == 0
        assert spans.dropped >= 4


@pytest.mark.req("OBS-2")
def test_trouble_is_said_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), collecting() as collector, queue(collector, timeout_s=0.2) as spans:
        collector.answers = 400
        for _ in range(3):
            spans.offer([span()])
            eventually_blocking(lambda: not spans.waiting)
        eventually_blocking(lambda: spans.failed == 3)
        collector.answers = 200
        spans.offer([span()])
        eventually_blocking(lambda: "spans reach the collector again" in [one.message for one in caplog.records])
    said = [record.message for record in caplog.records if record.name.startswith(("interlock", "opentelemetry"))]
    assert said == ["spans do not reach the collector", "spans reach the collector again"]


@pytest.mark.req("OBS-2")
def test_what_is_left_is_sent_when_the_gateway_ends() -> None:
    with collecting() as collector:
        with queue(collector, delay_s=60) as spans:
            spans.offer([span()])
        assert len(collector.spans) == 1
        spans.offer([span()])
        assert spans.dropped == 1


@pytest.mark.parametrize(
    "endpoint", ["localhost:4318", "ftp://host", "http://", "https://user:secret@host:4318", "http://host name"]
)
def test_an_endpoint_that_is_none_is_refused_without_being_repeated(endpoint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TracingConfig(endpoint=endpoint)
    assert "secret" not in str(refused.value.errors()[0]["msg"])


def test_the_path_is_added_only_where_there_is_none() -> None:
    assert TracingConfig(endpoint="http://host:4318").url == "http://host:4318/v1/traces"
    assert TracingConfig(endpoint="http://host:4318/").url == "http://host:4318/v1/traces"
    assert TracingConfig(endpoint="https://host/otlp/v1/traces").url == "https://host/otlp/v1/traces"


@pytest.mark.parametrize("text", ["no colon", "bad name : x\n", "x: \x01"])
def test_a_headers_file_is_refused_by_its_line_and_not_by_what_it_holds(tmp_path: Path, text: str) -> None:
    headers = tmp_path / "headers"
    headers.write_text(f"x: fine\n{text}\n")
    config = TracingConfig(endpoint="http://127.0.0.1:4318", headers_file=headers)
    with pytest.raises(ConfigError) as refused:
        open_span_queue(config, "r")
    assert refused.value.message == "tracing.headers_file, line 2: it is not `name: value`"


def test_a_file_that_is_not_there_is_named_by_its_key(tmp_path: Path) -> None:
    for key in ("headers_file", "ca_file", "cert_file", "key_file"):
        config = TracingConfig.model_validate({"endpoint": "http://127.0.0.1:4318", key: tmp_path / "none"})
        with pytest.raises(ConfigError, match=f"tracing.{key}"):
            open_span_queue(config, "r")
