"""Keys that bundles are signed and verified with, and which algorithm each may be used for.

The algorithm belongs to the key, by configuration. What a token says about itself chooses nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from interlock_gateway.policy.bundles.errors import BundleError, BundleFault

RSA_ALGORITHMS: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
CURVES: Final[dict[str, type[ec.EllipticCurve]]] = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
SECRET_ALGORITHMS: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""With the least bytes that a secret needs, RFC 7518, section 3.2."""
LEAST_RSA_BITS = 2048
_DEFAULT_ID = "default"


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key that bundles may be signed with: its id in the token, its one algorithm, and the scope it is good for."""

    key_id: str
    algorithm: str
    key: Any
    scope: str = ""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key or a secret, with what is said of it in the token."""

    algorithm: str
    key: Any
    key_id: str = _DEFAULT_ID
    scope: str = ""


def verification_key(path: Path, algorithm: str, key_id: str, scope: str = "") -> VerificationKey:
    """The public key (or certificate) in a PEM file, or for HS256 and its kin the secret that a file is.

    Raises `BundleError` when the file cannot be read or holds another kind of key, a private one too.
    """
    content = _read(path)
    if algorithm in SECRET_ALGORITHMS:
        return VerificationKey(key_id, algorithm, _secret(content, algorithm, path), scope)
    if b"PRIVATE KEY" in content:
        raise BundleError(BundleFault.NO_KEY, "holds a private key; who verifies needs the public one", str(path))
    try:
        if b"BEGIN CERTIFICATE" in content:
            key: Any = load_pem_x509_certificate(content).public_key()
        else:
            key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BundleError(BundleFault.NO_KEY, "holds no public key in PEM", str(path)) from error
    _fits(key, algorithm, path)
    return VerificationKey(key_id, algorithm, key, scope)


def signing_key(path: Path, algorithm: str, key_id: str = _DEFAULT_ID, scope: str = "") -> SigningKey:
    """The private key in a PEM file, or the secret that a file is. Raises `BundleError`."""
    content = _read(path)
    if algorithm in SECRET_ALGORITHMS:
        return SigningKey(algorithm, _secret(content, algorithm, path), key_id, scope)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BundleError(BundleFault.NO_KEY, "holds no private key in PEM, without a password", str(path)) from error
    _fits(key.public_key(), algorithm, path)
    return SigningKey(algorithm, key, key_id, scope)


def _fits(key: Any, algorithm: str, path: Path) -> None:
    if algorithm in RSA_ALGORITHMS:
        if not isinstance(key, rsa.RSAPublicKey):
            raise BundleError(BundleFault.NO_KEY, f"holds no RSA key, which {algorithm} needs", str(path))
        if key.key_size < LEAST_RSA_BITS:
            problem = f"holds an RSA key of {key.key_size} bits; at least {LEAST_RSA_BITS} are needed"
            raise BundleError(BundleFault.NO_KEY, problem, str(path))
        return
    curve = CURVES.get(algorithm)
    if curve is None:
        raise BundleError(BundleFault.NO_KEY, f"{algorithm} is no algorithm that bundles are signed with", str(path))
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, curve):
        raise BundleError(BundleFault.NO_KEY, f"holds no key on the curve that {algorithm} needs", str(path))


def _secret(content: bytes, algorithm: str, path: Path) -> bytes:
    if b"-----BEGIN" in content:
        # The old trick: a public key, which everybody knows, used as the secret.
        raise BundleError(BundleFault.NO_KEY, "holds a key in PEM where a secret is needed", str(path))
    if len(content) < (least := SECRET_ALGORITHMS[algorithm]):
        problem = f"holds a secret of {len(content)} bytes; {algorithm} needs at least {least}"
        raise BundleError(BundleFault.NO_KEY, problem, str(path))
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(BundleFault.NO_KEY, f"cannot be read: {error.strerror or error}", str(path)) from error
