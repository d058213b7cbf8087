"""`interlock webhook` as it runs: HTTPS, a certificate that is changed under it, and its end (K8S-1)."""

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from certificates import key_pem
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from interlock_gateway.injection.deciding import Outcome
from interlock_gateway.injection.settings import load_webhook_config
from interlock_gateway.injection.template import Template, load_template
from interlock_gateway.transport.http import admission
from interlock_gateway.transport.http.injecting import Webhook, webhook
from waiting import eventually_blocking

pytestmark = pytest.mark.req("K8S-1")
NAME = "interlock-injector.interlock.svc"
SIDECAR = """
initContainers: [{name: interlock, image: "interlock:1", restartPolicy: Always}]
volumes: [{name: interlock-socket, emptyDir: {}}]
agentVolumeMounts: [{name: interlock-socket, mountPath: /run/interlock, readOnly: true}]
"""
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "agent"}], "automountServiceAccountToken": False}}
REVIEW: dict[str, Any] = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "7f0b2891",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "object": POD,
    },
}
JSON = ("Content-Type: application/json",)
PATIENCE_S = 30


@dataclass(frozen=True, slots=True)
class Place:
    """The webhook's files, and the authority that its certificates come from."""

    directory: Path
    authority: trustme.CA

    @property
    def config(self) -> Path:
        return self.directory / "webhook.yaml"

    def write_certificate(self) -> int:
        """Put a new certificate there; its serial number."""
        made = self.authority.issue_cert(NAME, "127.0.0.1")
        made.private_key_pem.write_to_path(self.directory / "tls.key")
        (self.directory / "tls.crt").write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
        return x509.load_pem_x509_certificate(made.cert_chain_pems[0].bytes()).serial_number

    def context(self) -> ssl.SSLContext:
        trusting = ssl.create_default_context()
        self.authority.configure_trust(trusting)
        return trusting


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path, trustme.CA())
    made.write_certificate()
    (tmp_path / "sidecar.yaml").write_text(SIDECAR, encoding="utf-8")
    made.config.write_text(
        "listen: 127.0.0.1:0\nmetrics_listen: 127.0.0.1:0\ntemplate_file: sidecar.yaml\n"
        "tls: {cert_file: tls.crt, key_file: tls.key, reload_s: 0.02}\n",
        encoding="utf-8",
    )
    return made


@asynccontextmanager
async def served(place: Place) -> AsyncIterator[Webhook]:
    config = load_webhook_config(place.config)
    async with webhook(config, load_template(config.template_file)) as running:
        yield running


async def asked(
    place: Place,
    address: str,
    body: bytes,
    *,
    head: tuple[str, ...] = JSON,
    path: str = "POST /inject",
    name: str = NAME,
) -> tuple[int, bytes]:
    """What is answered, by status and body, to a request over a connection of its own."""
    host, _, port = address.rpartition(":")
    server_name = name or host
    reader, writer = await asyncio.open_connection(host, int(port), ssl=place.context(), server_hostname=server_name)
    lines = [f"{path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}", *head, "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    async with asyncio.timeout(PATIENCE_S):
        answered = await reader.read()
    writer.close()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()
    start, _, rest = answered.partition(b"\r\n\r\n")
    return int(start.split()[1]), rest


async def verdict(place: Place, address: str, review: dict[str, Any]) -> dict[str, Any]:
    status, body = await asked(place, address, json.dumps(review).encode())
    assert status == 200
    response: dict[str, Any] = json.loads(body)["response"]
    return response


async def test_a_review_is_answered_over_https_with_its_uid(place: Place) -> None:
    async with served(place) as running:
        response = await verdict(place, running.endpoints.reviews, REVIEW)
    assert response["uid"] == "7f0b2891"
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"


async def test_a_pod_in_a_namespace_whose_label_means_nothing_is_refused_with_a_sentence(place: Place) -> None:
    review = REVIEW | {"request": REVIEW["request"] | {"namespace": "research"}}
    async with served(place) as running:
        body = json.dumps(review).encode()
        status, answered = await asked(place, running.endpoints.reviews, body, path="POST /inject/unclear")
    response = json.loads(answered)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "7f0b2891", False)
    assert response["status"]["message"] == (
        'interlock: the label interlock.dev/inject of the namespace research has to be "true" or "false"; '
        "a pod that has the label itself goes by its own"
    )


@pytest.mark.parametrize(
    ("body", "head", "status"),
    [
        (b"{", JSON, 400),
        (b"[1]", JSON, 400),
        (json.dumps(REVIEW | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(), JSON, 400),
        (json.dumps(REVIEW).encode(), ("Content-Type: text/plain",), 415),
        (json.dumps(REVIEW).encode(), (), 415),
        (json.dumps(REVIEW).encode(), ("Content-Type: Application/JSON; charset=utf-8",), 200),
        (b" " * (admission.MOST_BYTES + 1), JSON, 413),
    ],
)
async def test_what_is_no_review_is_an_error_of_http(
    place: Place, body: bytes, head: tuple[str, ...], status: int
) -> None:
    async with served(place) as running:
        found, _ = await asked(place, running.endpoints.reviews, body, head=head)
    assert found == status


async def test_a_review_that_does_not_arrive_is_not_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "PATIENCE_S", 0.05)
    async with served(place) as running:
        host, _, port = running.endpoints.reviews.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=place.context(), server_hostname=NAME)
        writer.write(
            b"POST /inject HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        answered = await asyncio.wait_for(reader.readuntil(b"\r\n"), PATIENCE_S)
        writer.transport.abort()
    assert b" 408 " in answered


async def test_a_failure_of_ours_lets_no_pod_through(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_review: Any, _template: Template) -> tuple[Outcome, Any]:
        raise ZeroDivisionError("a secret of the pod")

    monkeypatch.setattr(admission, "decide", broken)
    async with served(place) as running:
        response = await verdict(place, running.endpoints.reviews, REVIEW)
    assert response["allowed"] is False
    assert response["status"]["code"] == 500
    assert "a secret" not in json.dumps(response)
    assert "a review could not be decided" in caplog.messages


@pytest.mark.parametrize("name", [NAME, "127.0.0.1"])
async def test_a_changed_certificate_is_shown_without_a_restart(place: Place, name: str) -> None:
    # To an address of numbers, clients send no name in their greeting.
    async with served(place) as running:
        address = running.endpoints.reviews
        first = await asyncio.to_thread(shown_serial, place, address, name)
        expected = place.write_certificate()
        await asyncio.to_thread(eventually_blocking, lambda: shown_serial(place, address, name) == expected, PATIENCE_S)
        assert first != expected
        assert (await verdict(place, address, REVIEW))["allowed"] is True


async def test_a_certificate_that_does_not_fit_leaves_the_last_one(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(place) as running:
        address = running.endpoints.reviews
        before = await asyncio.to_thread(shown_serial, place, address, NAME)
        key = (place.directory / "tls.key").read_bytes()
        expected = place.write_certificate()
        new_key = (place.directory / "tls.key").read_bytes()
        (place.directory / "tls.key").write_bytes(key)
        running.certificate.look()
        (place.directory / "tls.key").unlink()
        running.certificate.look()
        (place.directory / "tls.crt").write_bytes(b"nonsense")
        (place.directory / "tls.key").write_bytes(b"nonsense")
        for _ in range(3):
            running.certificate.look()
        assert await asyncio.to_thread(shown_serial, place, address, NAME) in {before, expected}
        assert (await verdict(place, address, REVIEW))["allowed"] is True
        said = [record.problem for record in caplog.records if record.msg == "the new certificate cannot be used"]  # type: ignore[attr-defined]  # of our own
        assert said
        assert len(said) == len(set(said))
        assert not [one for one in said if new_key.decode()[40:60] in one]


async def test_probes_and_metrics_are_answered(place: Place) -> None:
    async with served(place) as running:
        endpoints = running.endpoints
        assert await asked(place, endpoints.reviews, b"", path="GET /livez") == (200, b"ok")
        assert await asked(place, endpoints.reviews, b"", path="GET /readyz") == (200, b"ok")
        running.admission.ready = False
        assert await asked(place, endpoints.reviews, b"", path="GET /livez") == (200, b"ok")
        assert (await asked(place, endpoints.reviews, b"", path="GET /readyz"))[0] == 503
        assert (await asked(place, endpoints.reviews, b"", path="GET /inject"))[0] == 405
        await verdict(place, endpoints.reviews, REVIEW)
        host, _, port = endpoints.metrics.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
    assert 'interlock_injection_reviews_total{outcome="injected"} 1.0' in text
    assert "interlock_injection_certificate_remaining_seconds " in text


async def test_nothing_unencrypted_is_answered(place: Place) -> None:
    async with served(place) as running:
        host, _, port = running.endpoints.reviews.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" not in await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()


def test_sigterm_ends_it_in_order_after_what_it_was_asked(place: Place) -> None:
    with started(place) as (process, ready):
        assert set(ready) == {"ready", "reviews", "metrics", "template"}
        answered = asyncio.run(verdict(place, ready["reviews"], REVIEW))
        assert answered["allowed"] is True
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


def test_it_answers_until_its_delay_is_over_and_a_second_signal_ends_that(place: Place) -> None:
    with place.config.open("a", encoding="utf-8") as config:
        config.write("drain_delay_s: 3600\n")
    with started(place) as (process, ready):
        process.send_signal(signal.SIGTERM)
        eventually_blocking(
            lambda: asyncio.run(asked(place, ready["reviews"], b"", path="GET /readyz"))[0] == 503, PATIENCE_S
        )
        assert asyncio.run(verdict(place, ready["reviews"], REVIEW))["allowed"] is True
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("tls.key", "nonsense", "tls.key: "),
        ("tls.key", key_pem(ec.generate_private_key(ec.SECP256R1()), b"secret").decode(), "tls.key: "),
        ("sidecar.yaml", "volumes: []", "initContainers is required"),
        ("webhook.yaml", "lisen: x", "lisen is not a setting"),
    ],
)
def test_it_does_not_start_on_files_that_it_cannot_use(place: Place, file: str, text: str, said: str) -> None:
    (place.directory / file).write_text(text, encoding="utf-8")
    ended = subprocess.run(command(place), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 2
    assert said in " ".join(ended.stderr.split())


def command(place: Place) -> list[str]:
    return [sys.executable, "-m", "interlock_gateway.cli.main", "webhook", "--config", str(place.config), "-o", "json"]


@contextmanager
def started(place: Place) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """The program, and what it says once it serves."""
    with (place.directory / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command(place), stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        process.stdout.close()


def shown_serial(place: Place, address: str, name: str) -> int:
    """The serial number of the certificate that is shown to a client that knows `name`."""
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), PATIENCE_S) as plain,
        place.context().wrap_socket(plain, server_hostname=name) as encrypted,
    ):
        shown = encrypted.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number
