"""What a client says when there is no connection, in front of gRPC's own words."""

from types import SimpleNamespace

import grpc
import pytest
from interlock._connection import Connection
from interlock._connection_trouble import broke, explained
from interlock._contact import Contact
from interlock._flow import Failure
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
    assert Contact(None).failed(failure).reached is was_there
    assert Contact(0).failed(failure).reached is False


def test_who_has_answered_once_counts_as_there_until_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("interlock._contact.time", SimpleNamespace(monotonic=lambda: now[0]))
    lost = Failure(grpc.StatusCode.UNAVAILABLE, NOT_THERE, b"", 0.0)
    for_good, impatient = Contact(None), Contact(10.0)
    assert not for_good.failed(lost).reached
    for contact in (for_good, impatient):
        contact.answered("a message")
    assert impatient.failed(lost).reached
    now[0] += 9.9
    assert impatient.failed(lost).reached
    now[0] += 0.2
    assert not impatient.failed(lost).reached
    assert for_good.failed(lost).reached
    # Whoever refuses is there.
    assert impatient.failed(Failure(grpc.StatusCode.UNAVAILABLE, "no", b"of the gateway", 0.0)).reached
    now[0] += 5.0
    assert impatient.failed(lost).reached
