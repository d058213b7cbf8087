"""What clients' authorities have taken back is refused, and lists that cannot be used change nothing (AUTH-1)."""

import ssl
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from certificates import Authority, Leaf
from interlock_gateway.config_server import TlsConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.tls import revocation
from interlock_gateway.transport.tls.server_tls import ServerTls

CA, OTHER = Authority("Clients"), Authority("Others")
BETWEEN = Authority("Between", signed_by=CA)
GOOD, BAD, FOREIGN, BELOW = CA.leaf("spiffe://a/good"), CA.leaf("spiffe://a/bad"), OTHER.leaf(), BETWEEN.leaf()
HOST = "gateway.example.org"
pytestmark = pytest.mark.req("AUTH-1")


class SettableClock:
    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_s

    def monotonic(self) -> float:
        return time.monotonic()


def config(directory: Path) -> TlsConfig:
    return TlsConfig(
        cert_file=directory / "tls.crt",
        key_file=directory / "tls.key",
        client_ca_file=directory / "ca.crt",
        crl_file=directory / "crl.pem",
    )


def tls_with(directory: Path, lists: bytes, clock: SettableClock | None = None) -> ServerTls:
    CA.leaf(hosts=(HOST,)).written(directory)
    (directory / "ca.crt").write_bytes(CA.pem + OTHER.pem)
    (directory / "crl.pem").write_bytes(lists)
    return ServerTls(config(directory), clock or SettableClock())


def shaken(tls: ServerTls, leaf: Leaf, directory: Path) -> str:
    """How a handshake with a client that shows `leaf` ends: empty, or with OpenSSL's words."""
    cert, key = leaf.written(directory / "client", "client")
    trusting = ssl.create_default_context(cadata=CA.pem.decode())
    trusting.load_cert_chain(cert, key)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there, server_hostname=HOST)
    server = tls.context.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for end in (client, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
    assert server.getpeercert()
    return ""


def test_a_certificate_that_was_taken_back_is_refused_and_others_are_not(tmp_path: Path) -> None:
    tls = tls_with(tmp_path, CA.revocations(BAD) + OTHER.revocations())
    assert shaken(tls, BAD, tmp_path) == "certificate revoked"
    assert shaken(tls, GOOD, tmp_path) == ""
    assert shaken(tls, FOREIGN, tmp_path) == ""


def test_a_certificate_of_an_authority_without_a_list_is_refused(tmp_path: Path) -> None:
    tls = tls_with(tmp_path, CA.revocations())
    assert shaken(tls, FOREIGN, tmp_path) == "unable to get certificate CRL"
    assert shaken(tls, BELOW, tmp_path) == "unable to get certificate CRL"
    tls = tls_with(tmp_path, CA.revocations() + BETWEEN.revocations())
    assert shaken(tls, BELOW, tmp_path) == ""
    tls = tls_with(tmp_path, CA.revocations() + BETWEEN.revocations(signed_by=OTHER))
    assert "CRL" in shaken(tls, BELOW, tmp_path)


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        (lambda: b"", "does not hold revocation lists in PEM, and nothing else"),
        (lambda: b"garbage", "does not hold revocation lists in PEM, and nothing else"),
        (lambda: CA.revocations() + OTHER.pem, "does not hold revocation lists in PEM, and nothing else"),
        (lambda: CA.revocations()[:200], "holds a revocation list that cannot be read"),
        (lambda: b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "that cannot be read"),
        (lambda: CA.revocations(begins=timedelta(hours=-2), ends=timedelta(hours=-1)), "CN=Clients that has expired"),
        (lambda: CA.revocations(begins=timedelta(hours=1), ends=timedelta(hours=2)), "that is not in force yet"),
        (lambda: CA.revocations() + CA.revocations(signed_by=OTHER), "CN=Clients that it has not signed"),
        (lambda: CA.revocations() + OTHER.revocations(ends=timedelta(minutes=-1)), "CN=Others that has expired"),
    ],
)
async def test_lists_that_cannot_be_used_are_refused_at_the_start_and_leave_the_last_good_ones_later(
    tmp_path: Path, lists: Callable[[], bytes], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        tls_with(tmp_path, lists())
    assert said in refused.value.message
    tls = tls_with(tmp_path, CA.revocations(BAD))
    before = tls.context
    (tmp_path / "crl.pem").write_bytes(lists())
    assert not await tls.look()
    assert tls.context is before
    assert said in tls.problem
    assert not tls.is_well
    assert tls.counts["refused"] == 1
    assert shaken(tls, BAD, tmp_path) == "certificate revoked"
    assert shaken(tls, GOOD, tmp_path) == ""


async def test_a_new_list_is_used_for_the_next_connection_and_told(tmp_path: Path) -> None:
    tls = tls_with(tmp_path, CA.revocations())
    told: list[bool] = []
    tls.when_authorities_change(lambda: told.append(True))
    assert shaken(tls, BAD, tmp_path) == ""
    (tmp_path / "crl.pem").write_bytes(CA.revocations(BAD))
    assert await tls.look()
    assert told == [True]
    assert shaken(tls, BAD, tmp_path) == "certificate revoked"
    # The same again, as authorities write it every hour, sends nobody away.
    (tmp_path / "crl.pem").write_bytes(CA.revocations(BAD, ends=timedelta(hours=2)))
    before = tls.material.lists_end_at
    assert await tls.look()
    assert told == [True]
    assert tls.material.lists_end_at != before
    (tmp_path / "crl.pem").write_bytes(OTHER.revocations() + CA.revocations(BAD))
    assert await tls.look()
    assert told == [True, True]
    (tmp_path / "crl.pem").unlink()
    assert not await tls.look()
    assert shaken(tls, BAD, tmp_path) == "certificate revoked"


async def test_lists_that_end_while_they_are_in_use_are_said_to(tmp_path: Path) -> None:
    clock = SettableClock()
    tls = tls_with(tmp_path, CA.revocations(ends=timedelta(hours=3)), clock)
    assert tls.is_well
    assert ", revocation lists until " in tls.told
    clock.ahead_s = 4 * 3600
    assert not tls.is_well
    assert tls.told.endswith("; the revocation lists have expired: no client's certificate is accepted")


def test_a_certificate_is_refused_once_the_list_of_its_authority_has_ended(tmp_path: Path) -> None:
    clock = SettableClock()
    clock.ahead_s = -5 * 3600  # when the list was read it was in force
    CA.leaf(hosts=(HOST,), begins=timedelta(hours=-6)).written(tmp_path)
    (tmp_path / "ca.crt").write_bytes(CA.pem)
    (tmp_path / "crl.pem").write_bytes(CA.revocations(begins=timedelta(hours=-6), ends=timedelta(hours=-4)))
    tls = ServerTls(config(tmp_path), clock)
    assert shaken(tls, GOOD, tmp_path) == "CRL has expired"


def test_any_change_of_a_long_list_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def names(lists: bytes) -> frozenset[str]:
        return revocation.check_lists(Path("ca.crl"), lists, CA.pem, time.time()).names

    same, again = CA.revocations(BAD, GOOD), CA.revocations(GOOD, BAD, ends=timedelta(hours=2))
    assert names(same) == names(again) != names(CA.revocations(BAD))
    monkeypatch.setattr(revocation, "MOST_COMPARED", 1)
    assert names(same) != names(again)
