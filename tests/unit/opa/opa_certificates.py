"""An authority for a test, and certificates that it issued."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, as PEM files."""

    file: Path
    key_file: Path


class Authority:
    """Issues certificates into a directory; its own is `file`."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._builder(self._name, self._key.public_key())
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        own = own.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
        ).add_extension(_usage(signing=True), critical=True)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(own.sign(self._key, SHA256()).public_bytes(Encoding.PEM))

    def issue(self, name: str) -> Certificate:
        """A certificate for a host's name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        ).add_extension(_usage(signing=False), critical=True)
        made = Certificate(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        made.file.write_bytes(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        made.key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return made

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signing: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signing,
        key_cert_sign=signing,
        crl_sign=signing,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
