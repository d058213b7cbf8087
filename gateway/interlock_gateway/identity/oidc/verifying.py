"""A JSON Web Token, taken apart and verified (RFC 7515, RFC 7519, and what RFC 8725 warns of)."""

import math
from dataclasses import dataclass

import jwt

from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.identity.oidc.keys import KeySet, VerifyingKey, decoded
from interlock_gateway.identity.refusals import Refusal, RefusedError

NOT_ACCEPTED = "the token is not one that this gateway accepts"
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""What a token may say it is: none that is made for another purpose, such as a notice that somebody logged out."""
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Unverified:
    """A token that was taken apart, and nothing more: nothing it says is true yet."""

    signed: bytes
    signature: bytes
    algorithm: str
    kid: str | None
    claims: JsonObject


def taken_apart(token: str) -> Unverified:
    """The parts of `token`. Raises `RefusedError` when it is no signed token with a header that is understood."""
    head, _, rest = token.partition(".")
    body, _, signature = rest.partition(".")
    try:
        header = parse(decoded(head), max_depth=8).value
        claims = parse(decoded(body), max_depth=16).value
        sealed = decoded(signature)
    except (ValueError, InvalidDocumentError):
        raise RefusedError(Refusal.JWT_MALFORMED, NOT_ACCEPTED, "it is not three parts of base64url JSON") from None
    if "crit" in header or "b64" in header:
        raise RefusedError(Refusal.JWT_MALFORMED, NOT_ACCEPTED, "its header asks for an extension")
    kind, algorithm, kid = header.get("typ", "JWT"), header.get("alg"), header.get("kid")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise RefusedError(Refusal.JWT_MALFORMED, NOT_ACCEPTED, f"it is for something else: {_shown(kind)}")
    if not isinstance(algorithm, str) or not isinstance(kid, str | None):
        raise RefusedError(Refusal.JWT_MALFORMED, NOT_ACCEPTED, "its header has no alg, or a kid that is no text")
    return Unverified(f"{head}.{body}".encode(), sealed, algorithm, kid, claims)


def check_algorithm(token: Unverified, issuer: JwtConfig) -> None:
    """Raise `RefusedError` unless the issuer's tokens may be signed like this one says it is."""
    if token.algorithm not in issuer.algorithms:
        accepted = ", ".join(issuer.algorithms)
        detail = f"{issuer.name}: signed with {_shown(token.algorithm)}; identity.jwt accepts {accepted}"
        raise RefusedError(Refusal.JWT_ALGORITHM, NOT_ACCEPTED, detail)


def key_of(token: Unverified, keys: KeySet) -> VerifyingKey | None:
    """The issuer's key that the token says it is signed with."""
    return keys.find(token.kid, token.algorithm)


def check_signature(token: Unverified, key: VerifyingKey, issuer: JwtConfig) -> None:
    """Raise `RefusedError` unless the token was signed with `key`."""
    algorithm = jwt.get_algorithm_by_name(token.algorithm)
    if token.algorithm not in key.algorithms or not algorithm.verify(token.signed, key.key, token.signature):
        detail = f"{issuer.name}: its signature is not by the key {_shown(token.kid)}"
        raise RefusedError(Refusal.JWT_SIGNATURE, NOT_ACCEPTED, detail)


def check_claims(claims: JsonObject, issuer: JwtConfig, now: float) -> float:
    """When the token ends, in Unix seconds. Raises `RefusedError` unless it is this issuer's, for us, and for now.

    Only for claims whose signature was checked: what is said here is said to the caller.
    """
    name = issuer.name
    if claims.get("iss") != issuer.issuer:
        raise RefusedError(Refusal.JWT_ISSUER, NOT_ACCEPTED, f"{name}: iss is {_shown(claims.get('iss'))}")
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    if not any(isinstance(one, str) and one in issuer.audience for one in listed):
        expected = ", ".join(issuer.audience)
        detail = f"{name}: aud is {_shown(audience)}; identity.jwt expects {expected}"
        raise RefusedError(Refusal.JWT_AUDIENCE, "the token is for another audience", detail)
    ends = _time(claims, "exp", name)
    if ends is None:
        raise RefusedError(Refusal.JWT_CLAIMS, NOT_ACCEPTED, f"{name}: it has no exp")
    if now >= ends + issuer.leeway_s:
        detail = f"{name}: it expired {now - ends:.0f} s ago"
        raise RefusedError(Refusal.JWT_EXPIRED, "the token has expired", detail)
    for claim in ("nbf", "iat"):
        begins = _time(claims, claim, name)
        if begins is not None and begins - issuer.leeway_s > now:
            detail = f"{name}: {claim} is {begins - now:.0f} s from now; are the clocks set?"
            raise RefusedError(Refusal.JWT_NOT_YET, "the token does not hold yet", detail)
    return ends + issuer.leeway_s


def _time(claims: JsonObject, claim: str, name: str) -> float | None:
    value = claims.get(claim)
    if value is None and claim not in claims:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise RefusedError(Refusal.JWT_CLAIMS, NOT_ACCEPTED, f"{name}: {claim} is no time")
    return float(value)


def _shown(value: JsonValue) -> str:
    return repr(value)[:_SHOWN]
