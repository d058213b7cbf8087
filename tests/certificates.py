"""Certificates of an authority of our own, with whatever a test wants in them."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

BOTH = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)


@dataclass(frozen=True)
class Leaf:
    """A certificate and its key, in PEM; `chain` is the certificate and what leads to the authority."""

    chain: bytes
    key: bytes

    @property
    def der(self) -> bytes:
        return x509.load_pem_x509_certificate(self.chain).public_bytes(serialization.Encoding.DER)

    def written(self, directory: Path, name: str = "tls") -> tuple[Path, Path]:
        """The files `NAME.crt` and `NAME.key` with them."""
        directory.mkdir(parents=True, exist_ok=True)
        cert, key = directory / f"{name}.crt", directory / f"{name}.key"
        cert.write_bytes(self.chain)
        key.write_bytes(self.key)
        return cert, key


class Authority:
    """Signs certificates."""

    def __init__(self, name: str = "Test Authority", signed_by: "Authority | None" = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name.from_rfc4514_string(f"CN={name}")
        above = signed_by or self
        builder = _builder(self.name, above.name, self.key.public_key(), timedelta(days=-1), timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        self.certificate = builder.sign(above.key, hashes.SHA256())
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        self._above = b"" if signed_by is None else self.pem

    def leaf(
        self,
        *uris: str,
        subject: str = "CN=somebody",
        hosts: tuple[str, ...] = (),
        begins: timedelta = timedelta(hours=-1),
        ends: timedelta = timedelta(hours=1),
        usages: tuple[Any, ...] = BOTH,
        is_authority: bool = False,
        names_der: bytes = b"",
    ) -> Leaf:
        """A certificate for URIs, host names and addresses, or with `names_der` as its names, whatever that is."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(x509.Name.from_rfc4514_string(subject), self.name, key.public_key(), begins, ends)
        names = [*map(x509.UniformResourceIdentifier, uris), *map(_host, hosts)]
        if names_der:
            odd = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, names_der)
            builder = builder.add_extension(odd, critical=False)
        elif names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(authority, critical=False)
        pem = builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return Leaf(pem + self._above, key_pem(key))

    def revocations(
        self,
        *leaves: Leaf,
        begins: timedelta = timedelta(hours=-1),
        ends: timedelta = timedelta(hours=1),
        signed_by: "Authority | None" = None,
    ) -> bytes:
        """A list, in PEM, of certificates that are taken back."""
        now = datetime.now(UTC)
        builder = x509.CertificateRevocationListBuilder(self.name, now + begins, now + ends)
        for leaf in leaves:
            number = x509.load_pem_x509_certificate(leaf.chain).serial_number
            builder = builder.add_revoked_certificate(x509.RevokedCertificateBuilder(number, now + begins).build())
        key = (signed_by or self).key
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
        builder = builder.add_extension(identifier, critical=False).add_extension(x509.CRLNumber(1), critical=False)
        return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Any, begins: timedelta, ends: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now + begins).not_valid_after(now + ends)


def key_pem(key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> bytes:
    """A key in PEM, encrypted with a password if there is one."""
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
