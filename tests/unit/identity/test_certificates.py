"""Whom a client's certificate stands for, and certificates that stand for nobody whatever they say."""

import time
from datetime import timedelta

import pytest
from certificates import Authority
from interlock_gateway.config_identity import CertificateConfig
from interlock_gateway.core.session import Role
from interlock_gateway.errors import ConfigError
from interlock_gateway.identity.certificates import CertificateHolders, read_certificate
from interlock_gateway.identity.peer import Certificate, is_local_name
from interlock_gateway.identity.refusals import Refusal, RefusedError
from interlock_gateway.transport.grpc.peers import address_in, is_local

CA = Authority()
AGENT = "spiffe://example.org/ns/prod/sa/agent"
HOLDERS = CertificateHolders(
    (
        CertificateConfig(spiffe="spiffe://example.org/ns/*/sa/agent", roles=(Role.AGENT,), groups=("prod",)),
        CertificateConfig(spiffe="spiffe://example.org/ops", principal="ops", roles=(Role.OPERATOR,)),
        CertificateConfig(spiffe="spiffe://example.org/*", roles=(Role.AUDITOR,)),
        CertificateConfig(subject="CN=agent,O=Example", roles=(Role.AGENT,)),
    )
)


def shown(*uris: str, subject: str = "CN=somebody", is_authority: bool = False) -> Certificate:
    return read_certificate(CA.leaf(*uris, subject=subject, is_authority=is_authority).der)


def refused(certificate: Certificate, now: float | None = None) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        HOLDERS.principal(certificate, time.time() if now is None else now)
    return caught.value


@pytest.mark.req("AUTH-1")
def test_a_certificate_stands_for_whom_the_configuration_says() -> None:
    found = HOLDERS.principal(shown(AGENT), time.time())
    assert found is not None
    assert (found.id, found.kind, found.roles, found.groups) == (AGENT, "mtls", frozenset({Role.AGENT}), ("prod",))
    assert found.expires_at == pytest.approx(time.time() + 3600, abs=60)
    operator = HOLDERS.principal(shown("spiffe://example.org/ops"), time.time())
    assert operator is not None
    assert (operator.id, operator.roles) == ("ops", frozenset({Role.OPERATOR}))
    by_subject = HOLDERS.principal(shown(subject="CN=agent,O=Example"), time.time())
    assert by_subject is not None
    assert by_subject.id == "x509:CN=agent,O=Example"


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    "certificate",
    [
        shown("spiffe://example.com/ns/prod/sa/agent"),
        shown("spiffe://example.org/ns/prod/sa/agent2"),
        shown("spiffe://example.org/ns/a/b/sa/agent"),
        shown("https://example.org/ns/prod/sa/agent"),
        shown(subject="CN=agent,O=Example,C=US"),
        shown(subject="CN=Agent,O=Example"),
        shown(subject="O=Example,CN=agent"),
        shown(),
    ],
)
def test_a_certificate_that_fits_nothing_stands_for_nobody(certificate: Certificate) -> None:
    assert HOLDERS.principal(certificate, time.time()) is None


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (shown(AGENT, "spiffe://example.org/ops"), "names 2 URIs"),
        (shown(AGENT, AGENT), "names 2 URIs"),
        (shown(AGENT, "https://example.org"), "names 2 URIs"),
        (shown("https://example.org", AGENT, subject="CN=agent,O=Example"), "names 2 URIs"),
        (shown("SPIFFE://example.org/ops"), "must begin with spiffe://"),
        (shown("spiffe://Example.org/ops"), "must name a trust domain"),
        (shown("spiffe://example.org/ops/", subject="CN=agent,O=Example"), "path segment"),
        (shown("spiffe://example.org/a/../ops"), "path segment"),
        (shown(AGENT, is_authority=True), "it is an authority's"),
    ],
)
def test_a_certificate_that_is_no_svid_is_refused_whatever_else_it_says(certificate: Certificate, said: str) -> None:
    error = refused(certificate)
    assert error.reason is Refusal.CERTIFICATE_INVALID
    assert said in error.detail
    assert error.message == "the certificate is not one that this gateway accepts"


@pytest.mark.req("AUTH-1")
def test_a_certificate_holds_from_its_first_to_its_last_moment() -> None:
    certificate = shown(AGENT)
    assert refused(certificate, certificate.not_after + 1).message == "the certificate has expired"
    assert refused(certificate, certificate.not_before - 1).message == "the certificate does not hold yet"
    assert HOLDERS.principal(certificate, certificate.not_after) is not None


def test_a_subject_that_is_none_is_said_at_the_start() -> None:
    with pytest.raises(ConfigError, match="is no subject as RFC 4514 writes it"):
        CertificateHolders((CertificateConfig(subject="agent", roles=(Role.AGENT,)),))


def test_what_is_no_certificate_is_not_read() -> None:
    with pytest.raises(ValueError, match=r"."):
        read_certificate(b"none")


def test_a_leaf_through_an_intermediate_is_read_as_itself() -> None:
    between = Authority("between", signed_by=CA)
    leaf = between.leaf(AGENT, ends=timedelta(minutes=5))
    assert read_certificate(leaf.der).uris == (AGENT,)


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    ("name", "grpc_name", "local"),
    [
        (("127.0.0.1", 4), "ipv4:127.0.0.1:4", True),
        (("127.9.9.9", 4), "ipv4:127.9.9.9:4", True),
        (("::1", 4, 0, 0), "ipv6:%5B::1%5D:4", True),
        (("::ffff:127.0.0.1", 4, 0, 0), "ipv6:[::ffff:127.0.0.1]:4", True),
        (("10.0.0.1", 4), "ipv4:10.0.0.1:4", False),
        (("::ffff:10.0.0.1", 4, 0, 0), "ipv6:%5B::ffff:10.0.0.1%5D:4", False),
        (("fe80::1%eth0", 4, 0, 2), "ipv6:%5Bfe80::1%25eth0%5D:4", False),
        (("localhost", 4), "ipv4:localhost:4", False),
        ("", "unix:", True),
        (b"\0abstract", "unix-abstract:x", True),
        (None, "", False),
        ((), "tcp:127.0.0.1:4", False),
    ],
)
def test_both_fronts_know_who_is_on_this_machine(name: object, grpc_name: str, local: bool) -> None:
    assert is_local_name(name) is local
    assert is_local(grpc_name) is local


def test_an_address_is_told_without_its_port() -> None:
    assert address_in("ipv6:%5B2001:db8::1%5D:443") == "2001:db8::1"
    assert address_in("unix:/run/x") == ""
