"""Certificates that their authority has taken back before their end (RFC 5280, section 5).

OpenSSL compares what clients show with the lists, verifies the lists' signatures with what leads to the authority, and
refuses a certificate whose authority has no list that is in force.
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock_gateway.transport.tls.pair import UnusableError, said

if TYPE_CHECKING:
    from cryptography import x509

_LIST = b"-----BEGIN X509 CRL-----"
MOST_COMPARED = 10_000
"""Of longer lists it is not found out whether another one names the same certificates: any change counts as one."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Revocation lists that may be used: until when all are in force, in Unix seconds, and what they name.

    Lists that name the same have the same `names`, whenever they were written.
    """

    end_at: float
    names: frozenset[str]


def check_lists(file: Path, content: bytes, authorities: bytes, now: float) -> Lists:
    """The lists in `content`, the bytes of `file`.

    Raises `UnusableError` for one that is none, is not in force at `now`, or is signed by another than its authority.
    """
    # A certificate in this file would be believed as an authority: OpenSSL takes whatever it finds.
    if content.count(b"-----BEGIN ") != content.count(_LIST) or _LIST not in content:
        raise UnusableError(f"{file} does not hold revocation lists in PEM, and nothing else")
    from cryptography import x509  # noqa: PLC0415 -- 2 MB that only who has certificates pays for

    try:
        lists = [x509.load_pem_x509_crl(_LIST + part) for part in content.split(_LIST)[1:]]
        known = x509.load_pem_x509_certificates(authorities)
    except ValueError:
        raise UnusableError(f"{file} holds a revocation list that cannot be read") from None
    end_at = min(_ends_at(file, one, known, now) for one in lists)
    return Lists(end_at, frozenset(name for one in lists for name in _names(one)))


def compare_with_lists(context: ssl.SSLContext, file: Path) -> None:
    """Have `context` refuse what the lists in `file` name. Raises `UnusableError`."""
    try:
        context.load_verify_locations(cafile=file)
    except (OSError, ssl.SSLError) as error:
        raise UnusableError(f"{file} holds no revocation lists: {said(error)}") from None
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _ends_at(
    file: Path, revoked: "x509.CertificateRevocationList", known: "list[x509.Certificate]", now: float
) -> float:
    issuer = revoked.issuer.rfc4514_string()
    begins, ends = revoked.last_update_utc.timestamp(), revoked.next_update_utc
    if ends is None:
        raise UnusableError(f"{file} holds a revocation list of {issuer} that says no end, and would count for ever")
    if begins > now:
        raise UnusableError(f"{file} holds a revocation list of {issuer} that is not in force yet")
    if ends.timestamp() <= now:
        raise UnusableError(f"{file} holds a revocation list of {issuer} that has expired")
    # Of an authority between these and clients nothing is known before a client shows its certificate.
    signers = [one.public_key() for one in known if one.subject == revoked.issuer]
    if signers and not any(_is_signed(revoked, key) for key in signers):
        raise UnusableError(f"{file} holds a revocation list of {issuer} that it has not signed")
    return ends.timestamp()


def _names(revoked: "x509.CertificateRevocationList") -> Iterator[str]:
    issuer = revoked.issuer.rfc4514_string()
    yield issuer
    if len(revoked) > MOST_COMPARED:
        yield f"{issuer} {revoked.signature.hex()}"
        return
    yield from (f"{issuer} {one.serial_number:x}" for one in revoked)


def _is_signed(revoked: "x509.CertificateRevocationList", key: object) -> bool:
    try:
        return revoked.is_signature_valid(key)  # type: ignore[arg-type]  # of another kind: TypeError, as is said below
    except (TypeError, ValueError):  # the key is of a kind that signs nothing
        return False
