"""What operators read when TLS to a provider fails."""

import ssl
from pathlib import Path

import pytest
from certificates import Authority
from interlock_gateway.config_providers import ProviderTlsConfig
from interlock_gateway.providers.tls import ProviderTls, trouble

PLAIN = ProviderTls(ProviderTlsConfig(), "tools")
SHOWING = ProviderTls(ProviderTlsConfig(cert_file=Path("gateway.crt")), "tools")


def failed(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "in OpenSSL's words")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "tls", "words"),
    [
        (failed("TLSV13_ALERT_CERTIFICATE_REQUIRED"), PLAIN, "it asks for a certificate, and the gateway shows none"),
        (
            failed("TLSV1_ALERT_UNKNOWN_CA"),
            SHOWING,
            "it refuses the gateway's certificate (tlsv1_alert_unknown_ca)",
        ),
        (
            failed("SSLV3_ALERT_CERTIFICATE_EXPIRED"),
            SHOWING,
            "it refuses the gateway's certificate (sslv3_alert_certificate_expired)",
        ),
        (failed("WRONG_VERSION_NUMBER"), PLAIN, "it does not speak TLS"),
        (failed("NO_PROTOCOLS_AVAILABLE"), PLAIN, "TLS failed (no_protocols_available)"),
        (ConnectionError("closed"), PLAIN, "it closed the connection: it may ask for a certificate"),
        (ConnectionError("closed"), SHOWING, "it closed the connection: it may not take the gateway's certificate"),
        (ConnectionError("the other side closed it"), None, "the other side closed it"),
        (ConnectionRefusedError(111, "Connection refused"), PLAIN, "Connection refused"),
        (TimeoutError(), PLAIN, "it does not answer"),
    ],
)
def test_every_failure_has_its_words(error: OSError, tls: ProviderTls | None, words: str) -> None:
    assert trouble(error, tls) == words


def test_the_name_is_the_hosts_unless_another_is_said() -> None:
    assert PLAIN.server_name == "tools"
    assert ProviderTls(ProviderTlsConfig(server_name="other"), "tools").server_name == "other"


def test_one_context_serves_until_a_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(Authority().pem)
    tls = ProviderTls(ProviderTlsConfig(ca_file=file), "tools")
    first = tls.context()
    assert tls.context() is first
    assert first.verify_mode is ssl.CERT_REQUIRED
    assert first.check_hostname
    file.write_bytes(Authority("Another Authority").pem)
    assert tls.context() is not first
    file.write_bytes(b"nothing")
    with pytest.raises(OSError, match="the files of its TLS cannot be used"):
        tls.context()
