"""What a client says when there is no connection, in front of gRPC's own words."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from interlock import _call_flows as call_flows
from interlock._connection import Connection
from interlock._connection_trouble import broke, explained
from interlock._contact import Contact, FlowContact
from interlock._encode import SessionCore
from interlock._flow import LONGEST_PAUSE, Failure, Rest
from interlock._status import ErrorDetail, write_details
from interlock.errors import GatewayUnavailableError
from interlock.tls import ClientTls

HANDSHAKE = "Tls handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:"
CLOSED = "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:10.0.0.1:7080: Socket closed"
RESET = CLOSED.replace("Socket closed", "recvmsg:Connection reset by peer (104)")
NOT_THERE = "failed to connect; last error: UNKNOWN: ipv6:%5B::1%5D:7080: Failed to connect: Connection refused"
TRUSTING = ClientTls(ca_file="ca.pem")
SHOWING = ClientTls(ca_file="ca.pem", cert_file="agent.crt", server_name="gateway")


@pytest.mark.parametrize(
    ("said", "connection", "words"),
    [
        (
            f"{HANDSHAKE}CERTIFICATE_VERIFY_FAILED: certificate has expired: OK",
            Connection("g:1", tls=TRUSTING),
            "the gateway's certificate is refused: certificate has expired",
        ),
        (
            "Custom verification check failed with error: UNAUTHENTICATED: Hostname Verification Check failed.",
            Connection("g:1", tls=TRUSTING),
            "the gateway's certificate is not for g:1",
        ),
        (
            "Custom verification check failed with error: UNAUTHENTICATED: Hostname Verification Check failed.",
            Connection("g:1", tls=SHOWING),
            "the gateway's certificate is not for gateway",
        ),
        (f"{HANDSHAKE}WRONG_VERSION_NUMBER: context: OK", Connection("g:1"), "g:1 does not speak TLS"),
        (CLOSED, Connection("g:1", plaintext=True), "g:1 closed the connection: it may speak TLS"),
        (CLOSED, Connection("g:1"), "g:1 closed the connection: it may ask for a certificate"),
        (CLOSED, Connection("g:1", tls=SHOWING), "g:1 closed the connection: it may not take the certificate"),
        (RESET, Connection("g:1", tls=SHOWING), "g:1 closed the connection: it may not take the certificate"),
        (NOT_THERE, Connection("localhost:7080", tls=SHOWING), "localhost is ::1 as well as 127.0.0.1"),
    ],
)
def test_a_connection_that_tls_kept_from_being_made_says_so(said: str, connection: Connection, words: str) -> None:
    told = explained(Failure(grpc.StatusCode.UNAVAILABLE, said, b"", 0.0), connection)
    assert told.message.startswith(words)
    assert told.message.endswith(f" ({said})")


@pytest.mark.parametrize(
    "failure",
    [
        Failure(grpc.StatusCode.UNAVAILABLE, "Connection refused", b"", 0.0),
        Failure(grpc.StatusCode.UNAVAILABLE, CLOSED, b"of the gateway", 0.0),
        Failure(grpc.StatusCode.INTERNAL, CLOSED, b"", 0.0),
    ],
)
def test_other_failures_are_left_as_they_are(failure: Failure) -> None:
    assert explained(failure, Connection("g:1")) is failure


@pytest.mark.parametrize(
    ("said", "was_there"),
    [
        ("Socket closed", True),
        ("recvmsg:Connection reset by peer", True),
        ("GOAWAY received; Error code: 0; Debug Text: the gateway ends", True),
        (CLOSED, False),
        (RESET, False),
        (NOT_THERE, False),
        ("DNS resolution failed for gateway:7080", False),
        ("connections to all backends failing; last error: UNAVAILABLE: ipv4:10.0.0.1:7080: Socket closed", False),
    ],
)
def test_a_connection_that_broke_is_known_from_one_that_was_never_made(said: str, *, was_there: bool) -> None:
    failure = Failure(grpc.StatusCode.UNAVAILABLE, said, b"", 0.0)
    assert broke(failure) is was_there
    assert Contact(None).flow().failed(failure).reached is was_there
    assert Contact(0).flow().failed(failure).reached is False


Seconds = list[float]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    """What the clock shows, in its only item."""
    now = [100.0]
    monkeypatch.setattr("interlock._contact.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def said(code: grpc.StatusCode, reason: str) -> Failure:
    """An error of the gateway's own."""
    return Failure(code, "no", write_details(code.value[0], "no", ErrorDetail(reason=reason)), 0.0)


LOST = Failure(grpc.StatusCode.UNAVAILABLE, NOT_THERE, b"", 0.0)


def test_who_has_answered_once_counts_as_there_until_patience_ends(now: Seconds) -> None:
    nobody, for_good, impatient = (Contact(patience).flow() for patience in (None, None, 10.0))
    assert not nobody.failed(LOST).reached
    for contact in (for_good, impatient):
        contact.answered("a message")
    assert impatient.failed(LOST).reached
    now[0] += 9.9
    assert impatient.failed(LOST).reached
    now[0] += 0.2
    assert not impatient.failed(LOST).reached
    assert for_good.failed(LOST).reached
    impatient.answered("it is back")
    now[0] += 5.0
    assert impatient.failed(LOST).reached


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize(
    "reason", ["AUDIT_UNAVAILABLE", "STATE_UNAVAILABLE", "PROVIDER_UNAVAILABLE", "IDENTITY_UNAVAILABLE", ""]
)
def test_one_that_says_that_it_cannot_is_away_however_often_it_says_so(now: Seconds, reason: str) -> None:
    contact = Contact(10.0).flow()
    cannot = said(grpc.StatusCode.UNAVAILABLE, reason)
    for _ in range(10):
        assert contact.failed(cannot).reached
        now[0] += 1.0
    assert not contact.failed(cannot).reached
    assert Contact(None).flow().failed(cannot).reached


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, "DRAINING"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"),
        (grpc.StatusCode.FAILED_PRECONDITION, "ROLLBACK_IN_PROGRESS"),
    ],
)
def test_one_that_has_no_room_now_is_there(now: Seconds, code: grpc.StatusCode, reason: str) -> None:
    contact = Contact(10.0).flow()
    assert not contact.failed(LOST).reached
    now[0] += 20.0
    assert contact.failed(said(code, reason)).reached
    now[0] += 20.0
    assert contact.failed(LOST).reached


@pytest.mark.req("SDK-1")
def test_a_failure_long_ago_is_no_absence_of_a_gateway_that_nobody_has_asked_since(now: Seconds) -> None:
    contact = Contact(10.0)
    earlier = contact.flow()
    earlier.answered("a message")
    assert earlier.failed(LOST).reached
    now[0] += 3600.0
    later = contact.flow()
    assert later.failed(LOST).reached
    now[0] += 10.0
    assert not later.failed(LOST).reached


@pytest.mark.req("SDK-1")
def test_a_gateway_is_not_away_while_a_call_waits_at_it_for_a_person(now: Seconds) -> None:
    contact = Contact(10.0).flow()
    for _ in range(3):
        now[0] += 1200.0
        broken = Failure(grpc.StatusCode.UNAVAILABLE, "Socket closed", b"", 1200.0)
        assert contact.failed(broken).reached


@pytest.mark.req("SDK-1")
def test_a_client_gives_up_a_gateway_that_cannot_after_its_patience(now: Seconds) -> None:
    """The flow and what it knows of the gateway together, as a driver joins them."""
    contact = Contact(5.0).flow()
    flow = call_flows.call(SessionCore("s", 60.0), "write", {}, timeout=3600.0)
    began = now[0]
    with pytest.raises(GatewayUnavailableError) as raised:
        carried_out(flow, contact, now, said(grpc.StatusCode.UNAVAILABLE, "AUDIT_UNAVAILABLE"))
    assert raised.value.reason == "AUDIT_UNAVAILABLE"
    assert 5.0 <= now[0] - began <= 5.0 + LONGEST_PAUSE


def carried_out(flow: Generator[Any, Any, Any], contact: FlowContact, now: Seconds, failed: Failure) -> None:
    """Have every attempt fail at once."""
    step = next(flow)
    while True:
        if isinstance(step, Rest):
            now[0] += step.seconds
            step = flow.send(None)
        else:
            step = flow.send(contact.failed(failed))
