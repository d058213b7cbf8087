"""Callers who are known by a certificate: what is read of it, and whom it stands for (AUTH-1; X509-SVID, section 5).

Whether an authority vouches for it was found out when the connection was made. Roles and groups come from the
configuration alone, never from what a certificate says.
"""

from collections.abc import Iterable
from datetime import UTC

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from interlock_gateway.config_identity import CertificateConfig
from interlock_gateway.config_loader.identity_rules import SUBJECT_PREFIX
from interlock_gateway.config_loader.spiffe import spiffe_pattern, spiffe_problem
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import ConfigError
from interlock_gateway.identity.peer import Certificate
from interlock_gateway.identity.refusals import Refusal, RefusedError

SCHEME = "spiffe:"
_REFUSED = "the certificate is not one that this gateway accepts"


def read_certificate(der: bytes) -> Certificate:
    """What is read of a client's verified certificate. Raises `ValueError` when it cannot be read without doubt."""
    try:
        found = x509.load_der_x509_certificate(der)
        return Certificate(
            uris=_uris(found),
            subject=found.subject.rfc4514_string(),
            not_before=found.not_valid_before_utc.astimezone(UTC).timestamp(),
            not_after=found.not_valid_after_utc.astimezone(UTC).timestamp(),
            fingerprint=found.fingerprint(SHA256()).hex(),
            is_authority=_is_authority(found),
        )
    except (x509.DuplicateExtension, x509.UnsupportedGeneralNameType, x509.InvalidVersion) as error:
        raise ValueError(f"it is malformed: {type(error).__name__}") from None


def _uris(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(names.get_values_for_type(x509.UniformResourceIdentifier))


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


class CertificateHolders:
    """Whom certificates stand for. Raises `ConfigError` for a subject that is none."""

    def __init__(self, principals: Iterable[CertificateConfig]) -> None:
        self._spiffe = []
        self._subjects = []
        for one in principals:
            if one.spiffe:
                self._spiffe.append((spiffe_pattern(one.spiffe), one))
            else:
                self._subjects.append((_subject(one.subject), one))

    def principal(self, certificate: Certificate, now: float) -> Principal | None:
        """Whom it stands for; `None` for nobody. Raises `RefusedError` when it does not hold at `now`, or is no SVID.

        One that names any URI of SPIFFE is known by that alone, and must name it and no other.
        """
        if not certificate.not_before <= now <= certificate.not_after:
            late = now > certificate.not_after
            words = "the certificate has expired" if late else "the certificate does not hold yet"
            ago = f"{abs(now - (certificate.not_after if late else certificate.not_before)):.0f} s"
            detail = f"{_shown(certificate)}: {'it expired' if late else 'it holds in'} {ago}{' ago' if late else ''}"
            raise RefusedError(Refusal.CERTIFICATE_EXPIRED, words, detail)
        if any(uri.lower().startswith(SCHEME) for uri in certificate.uris):
            return self._by_spiffe(certificate)
        for subject, one in self._subjects:
            if subject == certificate.subject:
                return _principal(one, SUBJECT_PREFIX + subject, certificate)
        return None

    def _by_spiffe(self, certificate: Certificate) -> Principal | None:
        problem = ""
        if len(certificate.uris) != 1:
            problem = f"it names {len(certificate.uris)} URIs, and an X.509-SVID names one"
        elif certificate.is_authority:
            problem = "it is an authority's, and stands for nobody"
        elif said := spiffe_problem(certificate.uris[0]):
            problem = f"its SPIFFE ID {said}"
        if problem:
            raise RefusedError(Refusal.CERTIFICATE_INVALID, _REFUSED, f"{_shown(certificate)}: {problem}")
        for pattern, one in self._spiffe:
            if pattern.fullmatch(certificate.uris[0]):
                return _principal(one, certificate.uris[0], certificate)
        return None


def _principal(one: CertificateConfig, name: str, certificate: Certificate) -> Principal:
    return Principal(one.principal or name, "mtls", frozenset(one.roles), one.groups, expires_at=certificate.not_after)


def _subject(text: str) -> str:
    """The subject as certificates' are compared with it."""
    try:
        return x509.Name.from_rfc4514_string(text).rfc4514_string()
    except ValueError:
        words = "is no subject as RFC 4514 writes it: CN=agent,O=Example, without spaces between the parts"
        raise ConfigError(f"identity.mtls.principals: subject {text!r} {words}") from None


def _shown(certificate: Certificate) -> str:
    return (", ".join(certificate.uris) or certificate.subject or "a certificate without a name")[:300]
