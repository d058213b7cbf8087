"""An authority for a test, and certificates that it issued: for hosts, SPIFFE IDs and subjects, good and expired."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, as PEM files."""

    file: Path
    key_file: Path

    def replace_by(self, other: "Issued") -> None:
        """Put another certificate and key into these files, as whatever renews them does."""
        for mine, theirs in ((self.key_file, other.key_file), (self.file, other.file)):
            fresh = mine.with_suffix(".fresh")
            fresh.write_bytes(theirs.read_bytes())
            fresh.replace(mine)


class Authority:
    """Issues certificates into a directory; its own is `file`."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._count = 0
        own = _builder(self._name, self._name, self._key.public_key(), DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        own = own.add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(own.sign(self._key, SHA256()).public_bytes(Encoding.PEM))

    def issue(self, *names: str, subject: str = "a test", expired: bool = False) -> Issued:
        """A certificate for these host names, addresses and URIs."""
        key = ec.generate_private_key(ec.SECP256R1())
        whom = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        left = -dt.timedelta(minutes=1) if expired else DAY
        builder = _builder(whom, self._name, key.public_key(), left)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        ).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        self._count += 1
        made = Issued(self._directory / f"{self._count}.crt", self._directory / f"{self._count}.key")
        made.file.write_bytes(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        made.key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return made


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, left: dt.timedelta
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + left)
    )


def _general_name(name: str) -> x509.GeneralName:
    if "://" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
