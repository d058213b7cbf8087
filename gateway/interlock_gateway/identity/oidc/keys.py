"""An issuer's public keys, from its JWKS (RFC 7517): only keys that verify signatures, each for its own algorithms."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers

from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

PublicKey: TypeAlias = RSAPublicKey | ec.EllipticCurvePublicKey | Ed25519PublicKey
MOST_KEYS = 64
_RSA_BITS = range(2048, 8193)
_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_CURVES: dict[str, tuple[ec.EllipticCurve, str]] = {
    "P-256": (ec.SECP256R1(), "ES256"),
    "P-384": (ec.SECP384R1(), "ES384"),
    "P-521": (ec.SECP521R1(), "ES512"),
}
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class KeysError(Exception):
    """An issuer's keys cannot be had, or cannot be used; `message` says why, for the log."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key, with the signatures it may verify: those of its kind, and so never one by a shared secret."""

    kid: str
    algorithms: frozenset[str]
    key: PublicKey


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys that an issuer signs with."""

    keys: tuple[VerifyingKey, ...]

    def knows(self, kid: str) -> bool:
        """Whether there is a key of this name."""
        return any(key.kid == kid for key in self.keys)

    def find(self, kid: str | None, algorithm: str) -> VerifyingKey | None:
        """The key named `kid` for `algorithm`; without a name, the only one there is for it."""
        fit = [key for key in self.keys if algorithm in key.algorithms and kid in {None, key.kid}]
        return fit[0] if len(fit) == 1 or (fit and kid is not None) else None


def read_keys(raw: bytes) -> KeySet:
    """The keys in a JWKS. Raises `KeysError` when it is none, or holds no key that verifies signatures."""
    try:
        listed = parse(raw, max_depth=16).value.get("keys")
    except InvalidDocumentError as error:
        raise KeysError(f"its keys are no JSON: {error.message}") from None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise KeysError(f"its keys are no list of {MOST_KEYS} at most")
    found = tuple(key for one in listed if isinstance(one, dict) for key in _readable(one))
    if not found:
        raise KeysError("it has no key that verifies signatures")
    return KeySet(found)


def _readable(jwk: JsonObject) -> Iterator[VerifyingKey]:
    """The key, if it is one that verifies: others that an issuer has are none of our business (RFC 7517, section 5)."""
    operations = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return
    kid = jwk.get("kid", "")
    try:
        key, algorithms = _public_key(jwk)
    except (ValueError, UnsupportedAlgorithm):
        return
    if "alg" in jwk:
        algorithms &= {str(jwk["alg"])}
    if algorithms and isinstance(kid, str):
        yield VerifyingKey(kid, algorithms, key)


def _public_key(jwk: JsonObject) -> tuple[PublicKey, frozenset[str]]:
    """The key, with the algorithms of its kind. Raises `ValueError`."""
    kind, curve = jwk.get("kty"), jwk.get("crv")
    if kind == "RSA":
        modulus = _number(jwk.get("n"))
        if modulus.bit_length() not in _RSA_BITS:
            raise ValueError("too short, or too long")
        return RSAPublicNumbers(_number(jwk.get("e")), modulus).public_key(), _RSA
    if kind == "EC" and isinstance(curve, str) and curve in _CURVES:
        shape, algorithm = _CURVES[curve]
        numbers = ec.EllipticCurvePublicNumbers(_number(jwk.get("x")), _number(jwk.get("y")), shape)
        return numbers.public_key(), frozenset({algorithm})
    if kind == "OKP" and curve == "Ed25519":
        return Ed25519PublicKey.from_public_bytes(decoded(jwk.get("x"))), frozenset({"EdDSA"})
    raise ValueError("no key of a kind that is known")


def decoded(text: JsonValue) -> bytes:
    """The bytes that `text` stands for in base64url without padding (RFC 7515, section 2). Raises `ValueError`."""
    if not isinstance(text, str) or not _BASE64URL.fullmatch(text):
        raise ValueError("not base64url")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError("not base64url") from None


def _number(text: JsonValue) -> int:
    return int.from_bytes(decoded(text), "big")
