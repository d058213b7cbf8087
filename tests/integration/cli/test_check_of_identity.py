"""`interlock check` says what is wrong with certificates and issuers, before anybody is turned away."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from certificates import Authority
from interlock_gateway.cli.identity_checks import _check_all, check_certificates
from interlock_gateway.config import Config, IdentityConfig, ServerConfig
from interlock_gateway.config_identity import CertificateConfig, JwtAlgorithm, MtlsConfig
from interlock_gateway.config_server import TlsConfig
from interlock_gateway.core.session import Role
from token_issuer import IssuerServer, issuing, settings


@pytest.fixture
async def issuer() -> AsyncIterator[IssuerServer]:
    async with issuing() as made:
        yield made


def config(directory: Path, subject: str) -> Config:
    cert, key = directory / "tls.crt", directory / "tls.key"
    tls = TlsConfig(cert_file=cert, key_file=key, client_ca_file=directory / "ca.crt")
    mtls = MtlsConfig(principals=(CertificateConfig(subject=subject, roles=(Role.AGENT,)),))
    return Config(server=ServerConfig(tls=tls), identity=IdentityConfig(mtls=mtls))


@pytest.mark.req("AUTH-1")
def test_certificates_are_checked_with_their_key_and_their_end(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    (missing,) = check_certificates(config(tmp_path, "CN=a"))
    assert not missing.ok
    assert missing.detail.endswith("tls.crt cannot be read: No such file or directory")
    authority.leaf(ends=timedelta(days=1)).written(tmp_path)
    tls, mtls = check_certificates(config(tmp_path, "CN=a"))
    assert (tls.ok, mtls.ok) == (True, True)
    assert tls.detail.endswith("UTC (soon); certificates of clients are required")
    _, odd = check_certificates(config(tmp_path, "a"))
    assert not odd.ok
    assert list(check_certificates(Config())) == []


@pytest.mark.req("AUTH-1")
async def test_issuers_are_asked_for_their_keys(issuer: IssuerServer) -> None:
    good = settings(issuer=issuer.url)
    others = settings(issuer=issuer.url, algorithms=(JwtAlgorithm.RS256,))
    gone = settings(issuer="http://127.0.0.1:1")
    found = await _check_all((good, others, gone))
    assert [one.ok for one in found] == [True, False, False]
    assert found[0].detail == f"{issuer.url}: 1 keys"
    assert found[1].detail == f"{issuer.url}: its keys are for ES256; `algorithms` names none of these"
    assert "it cannot be reached" in found[2].detail
