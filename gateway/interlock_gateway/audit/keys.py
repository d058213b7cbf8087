"""The Ed25519 key that signs receipts: made at first start, or given by the operator."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.errors import ConfigError

PUBLIC_SUFFIX = ".pub"
_GROUP_AND_OTHERS = 0o077
_GROUP_READS = 0o040


@dataclass(frozen=True, slots=True)
class VerifyKey:
    """The public half. `key_id` is the first 16 hex digits of the SHA-256 of the raw public key."""

    key: Ed25519PublicKey
    key_id: str

    @classmethod
    def from_pem(cls, pem: bytes) -> "VerifyKey":
        """Read a public key. Raises `ConfigError` when `pem` is not an Ed25519 public key."""
        try:
            key = serialization.load_pem_public_key(pem)
        except ValueError as error:
            raise ConfigError("the audit public key is not in PEM format") from error
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError("the audit public key is not an Ed25519 key")
        return _verify_key(key)

    def pem(self) -> bytes:
        """The key as PEM."""
        return self.key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` over `message` was made with the private half."""
        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """Both halves."""

    key: Ed25519PrivateKey
    public: VerifyKey

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature over `message`."""
        return self.key.sign(message)


def load_or_create(path: Path) -> SigningKey:
    """The key in `path`, made when there is none: private PEM, mode 0600; the public PEM beside it as `<path>.pub`.

    Raises `ConfigError` when the file is not an unencrypted Ed25519 private key or others may read it, and
    `AuditDamagedError` when it cannot be created.
    """
    try:
        pem = path.read_bytes()
    except FileNotFoundError:
        return _create(path)
    except OSError as error:
        raise ConfigError(f"the audit key cannot be read: {error.strerror}") from error
    if may_others_read(path.stat()):
        raise ConfigError("the audit key may be read by others; set its mode to 0600")
    return _parse(pem)


def may_others_read(status: os.stat_result) -> bool:
    """Whether a key is open to others than its owner. A group may read one of root's, as Kubernetes mounts secrets."""
    closed = _GROUP_AND_OTHERS & ~_GROUP_READS if status.st_uid == 0 else _GROUP_AND_OTHERS
    return bool(status.st_mode & closed)


def _create(path: Path) -> SigningKey:
    key = Ed25519PrivateKey.generate()
    signing = SigningKey(key, _verify_key(key.public_key()))
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_new(path, pem, 0o600)
        public = path.with_name(path.name + PUBLIC_SUFFIX)
        public.unlink(missing_ok=True)
        _write_new(public, signing.public.pem(), 0o644)
    except FileExistsError:
        # Another process made it a moment ago; theirs is the key.
        return load_or_create(path)
    except OSError as error:
        raise AuditDamagedError(f"the audit key cannot be created: {error.strerror}") from error
    return signing


def _write_new(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _parse(pem: bytes) -> SigningKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise ConfigError("the audit key is not an unencrypted private key in PEM format") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError("the audit key is not an Ed25519 key")
    return SigningKey(key, _verify_key(key.public_key()))


def _verify_key(key: Ed25519PublicKey) -> VerifyKey:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return VerifyKey(key, hashlib.sha256(raw).hexdigest()[:16])
