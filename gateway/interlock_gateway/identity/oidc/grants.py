"""From verified claims to a principal: who it is, and what the configuration lets such a one do (AUTH-1, AUTH-2)."""

from collections.abc import Iterator

from interlock_gateway.config_identity import GrantConfig, JwtConfig
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.session import Principal, Role, contradict
from interlock_gateway.identity.refusals import Refusal, RefusedError

LONGEST_SUBJECT = 200
MOST_GROUPS = 512
_ADDRESS = frozenset({"email", "/email"})
"""The claim with an address, as a name and as a pointer: many issuers let people say any address of themselves."""
_NO_ROLE = "the token is valid, and gives no role here"


def principal_of(claims: JsonObject, issuer: JwtConfig, expires_at: float) -> Principal:
    """The principal that verified `claims` of `issuer` stand for: `NAME:` and the claim that says who it is.

    Raises `RefusedError` when that is missing, or what it may do is nothing, or contradicts itself.
    """
    name = f"{issuer.name}:{_subject(claims, issuer)}"
    fit = [grant for grant in issuer.grants if _fits(grant, claims)]
    roles = frozenset(role for grant in fit for role in grant.roles)
    if not roles:
        raise RefusedError(Refusal.NO_ROLE, _NO_ROLE, f"{name} has no role by the grants of identity.jwt")
    refuse_contradiction(name, roles)
    groups = dict.fromkeys(group for grant in fit for group in grant.groups)
    if issuer.groups_claim:
        groups |= dict.fromkeys(_texts(claim_at(claims, issuer.groups_claim)))
    if len(groups) > MOST_GROUPS:
        raise RefusedError(Refusal.JWT_CLAIMS, "the token names too many groups", f"{name}: {len(groups)} groups")
    shown = {claim: value for claim in issuer.claims if (value := claim_at(claims, claim)) is not None}
    return Principal(name, "jwt", roles, tuple(groups), shown, expires_at)


def refuse_contradiction(name: str, roles: frozenset[Role]) -> None:
    """Raise `RefusedError` when `roles` make `name` an agent who decides about calls."""
    if contradict(roles):
        held = ", ".join(sorted(roles))
        detail = f"{name} would be {held}: an agent never decides about calls"
        raise RefusedError(Refusal.ROLES_CONTRADICT, "these credentials are an agent's and decide about calls", detail)


def claim_at(claims: JsonObject, place: str) -> JsonValue:
    """The claim named `place`, or the one inside others at the JSON pointer `place` (RFC 6901); `None` without one.

    >>> claim_at({"realm_access": {"roles": ["a"]}}, "/realm_access/roles")
    ['a']
    """
    if not place.startswith("/"):
        return claims.get(place)
    here: JsonValue = claims
    for part in place.split("/")[1:]:
        if not isinstance(here, dict):
            return None
        here = here.get(part.replace("~1", "/").replace("~0", "~"))
    return here


def _subject(claims: JsonObject, issuer: JwtConfig) -> str:
    claim = issuer.principal_claim
    subject = claim_at(claims, claim)
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        detail = f"{issuer.name}: the claim {claim} is no text of 1 to {LONGEST_SUBJECT} printable characters"
        raise RefusedError(Refusal.JWT_CLAIMS, "the token does not say whose it is", detail)
    if not _is_proven(claims, claim):
        detail = f"{issuer.name}: email_verified is not true, so that the address may be anybody's"
        raise RefusedError(Refusal.JWT_CLAIMS, "the token does not say whose it is", detail)
    return subject


def _is_proven(claims: JsonObject, place: str) -> bool:
    """Whether the claim at `place` is the issuer's word, and not the user's own."""
    return place not in _ADDRESS or claims.get("email_verified") is True


def _fits(grant: GrantConfig, claims: JsonObject) -> bool:
    if not _is_proven(claims, grant.claim):
        return False
    values = _texts(claim_at(claims, grant.claim))
    if grant.value.endswith("*"):
        return any(value.startswith(grant.value[:-1]) for value in values)
    return grant.value in values


def _texts(value: JsonValue) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and one:
            yield one
