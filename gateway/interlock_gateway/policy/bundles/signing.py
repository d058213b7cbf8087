"""Signatures of bundles in OPA's format: `.signatures.json` holds one JWT whose claims list each file with its hash."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.api_jws import PyJWS
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.hashing import DEFAULT_ALGORITHM, document_of, file_hash
from interlock_gateway.policy.bundles.keys import SigningKey, VerificationKey

SIGNATURES = ".signatures.json"
_PLUGINS = frozenset({"", "_default"})


class _Document(BaseModel):
    """`.signatures.json`."""

    model_config = ConfigDict(strict=True, extra="ignore")
    signatures: tuple[str, ...] = Field(strict=False)
    plugin: str = ""


class _SignedFile(BaseModel):
    """One file that a signature names."""

    model_config = ConfigDict(strict=True, extra="ignore")
    name: str
    hash: str
    algorithm: str


class _Claims(BaseModel):
    """What a signature says; other claims are its maker's business."""

    model_config = ConfigDict(strict=True, extra="ignore")
    files: tuple[_SignedFile, ...] = Field(strict=False)
    keyid: str = ""
    scope: str = ""
    iat: int | float | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that holds for every file: by which key, and when it says it was made (Unix seconds)."""

    key_id: str
    issued_at: int | None


def sign_files(files: Mapping[str, bytes], key: SigningKey, *, issued_at: int) -> bytes:
    """The `.signatures.json` for `files`, of which it is none itself."""
    named = [
        {"name": name, "hash": file_hash(name, content), "algorithm": DEFAULT_ALGORITHM}
        for name, content in sorted(files.items())
        if name != SIGNATURES
    ]
    # `keyid` besides the header's `kid`, for an OPA that is older than that.
    claims: dict[str, Any] = {"files": named, "iat": issued_at, "keyid": key.key_id}
    if key.scope:
        claims["scope"] = key.scope
    payload = json.dumps(claims, separators=(",", ":")).encode()
    headers = {"kid": key.key_id, "typ": "JWT"}
    token = PyJWS(algorithms=[key.algorithm]).encode(payload, key.key, algorithm=key.algorithm, headers=headers)
    return json.dumps({"signatures": [token]}).encode()


def verify_files(files: Mapping[str, bytes], keys: Sequence[VerificationKey]) -> Signature:
    """Check that one of `keys` signed exactly `files`. Raises `BundleError` in every other case."""
    if SIGNATURES not in files:
        raise BundleError(BundleFault.UNSIGNED, f"is not signed: there is no {SIGNATURES}")
    token = _token(files[SIGNATURES])
    key = _key_of(token, keys)
    claims = _claims(_payload(token, key))
    if claims.scope != key.scope:
        problem = f"is signed for the scope {claims.scope!r}, and the key {key.key_id} is for {key.scope!r}"
        raise BundleError(BundleFault.SCOPE, problem)
    _check_files(files, claims.files)
    return Signature(key.key_id, None if claims.iat is None else int(claims.iat))


def signature_claims(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """What the signature of a bundle says, believed in nothing; `None` without one. Raises `BundleError`."""
    if SIGNATURES not in files:
        return None
    parts = _parts(_token(files[SIGNATURES]))
    claims = _claims(parts["payload"])
    header = parts["header"]
    return {
        "key_id": header.get("kid") or claims.keyid,
        "algorithm": header.get("alg"),
        "scope": claims.scope,
        "issued_at": claims.iat,
    }


def _token(content: bytes) -> str:
    try:
        document = _Document.model_validate(document_of(SIGNATURES, content))
    except ValidationError as error:
        raise BundleError(BundleFault.MALFORMED, "is no list of signatures", SIGNATURES) from error
    if document.plugin not in _PLUGINS:
        raise BundleError(BundleFault.SIGNATURE, f"asks for the plug-in {document.plugin!r}", SIGNATURES)
    if not document.signatures:
        raise BundleError(BundleFault.UNSIGNED, "holds no signature", SIGNATURES)
    if len(document.signatures) > 1:
        raise BundleError(BundleFault.SIGNATURE, "holds several signatures, where OPA reads one", SIGNATURES)
    return document.signatures[0]


def _key_of(token: str, keys: Sequence[VerificationKey]) -> VerificationKey:
    """The key that the token names, in its header or, as of old, in its claims."""
    parts = _parts(token)
    key_id = parts["header"].get("kid") or _claims(parts["payload"]).keyid
    if not key_id:
        raise BundleError(BundleFault.KEY_ID_MISSING, "does not say which key it is signed with", SIGNATURES)
    for key in keys:
        if key.key_id == key_id:
            return key
    raise BundleError(
        BundleFault.UNKNOWN_KEY, f"is signed with the key {key_id!r}, which is not configured", SIGNATURES
    )


def _parts(token: str) -> dict[str, Any]:
    try:
        return PyJWS().decode_complete(token, options={"verify_signature": False})
    except jwt.PyJWTError as error:
        raise BundleError(BundleFault.SIGNATURE, f"holds no signature that can be read: {error}", SIGNATURES) from error


def _payload(token: str, key: VerificationKey) -> bytes:
    try:
        payload: bytes = PyJWS(algorithms=[key.algorithm]).decode(token, key.key, algorithms=[key.algorithm])
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        problem = f"the signature does not hold for the key {key.key_id} with {key.algorithm}: {error}"
        raise BundleError(BundleFault.SIGNATURE, problem, SIGNATURES) from error
    return payload


def _claims(payload: bytes) -> _Claims:
    try:
        return _Claims.model_validate(document_of(SIGNATURES, payload))
    except ValidationError as error:
        raise BundleError(BundleFault.SIGNATURE, "the signature does not list files", SIGNATURES) from error


def _check_files(files: Mapping[str, bytes], signed: Sequence[_SignedFile]) -> None:
    expected = {one.name.removeprefix("/"): one for one in signed}
    if len(expected) != len(signed):
        raise BundleError(BundleFault.SIGNATURE, "the signature lists a file twice", SIGNATURES)
    present = files.keys() - {SIGNATURES}
    if extra := sorted(present - expected.keys()):
        raise BundleError(BundleFault.FILE_NOT_SIGNED, "is in the bundle and not in its signature", extra[0])
    if missing := sorted(expected.keys() - present):
        raise BundleError(BundleFault.FILE_MISSING, "is in the signature and not in the bundle", missing[0])
    for name, one in expected.items():
        if file_hash(name, files[name], one.algorithm) != one.hash.lower():
            raise BundleError(BundleFault.FILE_CHANGED, "is not what was signed", name)
