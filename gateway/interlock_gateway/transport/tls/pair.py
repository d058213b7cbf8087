"""A certificate with its key, in PEM files, as a TLS server shows them."""

import ssl
from pathlib import Path


class UnusableError(Exception):
    """The files cannot be used; says why, and nothing that stands in them."""


def load_pair(context: ssl.SSLContext, cert_file: Path, key_file: Path) -> float:
    """Have `context` show the certificate; until when it holds, in Unix seconds. Raises `UnusableError`."""
    try:
        context.load_cert_chain(cert_file, key_file, password=_no_password)
        certificate = cert_file.read_bytes()
    except (OSError, ValueError) as error:
        raise UnusableError(f"{cert_file} and {key_file}: {said(error)}") from None
    return _ends_at(cert_file, certificate)


def _ends_at(file: Path, certificate: bytes) -> float:
    from cryptography import x509  # noqa: PLC0415 -- 2 MB that only who has a certificate pays for

    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError:
        raise UnusableError(f"{file} holds no certificate in PEM") from None


def _no_password() -> bytes:
    # Without this, OpenSSL would ask for the password of an encrypted key on the terminal.
    return b""


def said(error: Exception) -> str:
    """What is wrong, in words that say nothing of the content."""
    if isinstance(error, ssl.SSLError):
        words = (error.reason or "no PEM").lower().replace("_", " ")
        return {"key values mismatch": "the key is not the certificate's"}.get(words, words)
    return str(getattr(error, "strerror", None) or "no PEM")
