"""Tokens of issuers: what is accepted of them, and every way in which one is not what it says."""

import asyncio
import hmac
import json
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from interlock_gateway.config_identity import GrantConfig, JwtAlgorithm, JwtConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.identity.oidc import bearer
from interlock_gateway.identity.oidc.bearer import JwtBearers
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.oidc.keys import KeysError, KeySet
from interlock_gateway.identity.refusals import Refusal, RefusedError
from token_issuer import FixedClock, Signer, claims, forged, key_set, settings

ES, RS = Signer("es"), Signer("rs", "RS256")
EVERY = tuple(JwtAlgorithm)


async def never(_: JwtConfig) -> KeySet:
    raise KeysError("nobody is there")


def bearers(*keys: dict[str, Any], clock: FixedClock | None = None, **changed: Any) -> JwtBearers:
    """Verifies tokens with `keys`, which nothing ever fetches."""
    clock = clock or FixedClock()
    known = Issuer(settings(**changed), clock, never)
    known._took(key_set(*(keys or (ES.jwk(), RS.jwk()))))
    return JwtBearers([known], clock)


def accepted(verifier: JwtBearers, token: str) -> Principal:
    found = verifier.principal(token)
    assert isinstance(found, Principal)
    return found


def refused(verifier: JwtBearers, token: str) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        verifier.principal(token)
    return caught.value


def good(**changed: Any) -> dict[str, Any]:
    return claims(FixedClock().now(), **changed)


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("algorithm", EVERY)
def test_a_token_is_accepted_with_every_algorithm_that_may_be_configured(algorithm: JwtAlgorithm) -> None:
    signer = Signer("k", algorithm)
    verifier = bearers(signer.jwk(), algorithms=(algorithm,))
    found = accepted(verifier, signer.token(good()))
    assert (found.id, found.kind, found.roles) == ("own:alice", "jwt", frozenset({Role.AGENT}))
    assert found.expires_at == good()["exp"] + 30


@pytest.mark.req("AUTH-1")
def test_a_token_without_a_signature_is_never_accepted() -> None:
    for said in ("none", "None", "NONE", "nOnE", ""):
        assert refused(bearers(), forged({"alg": said, "kid": "es"}, good())).reason is Refusal.JWT_MALFORMED
        assert refused(bearers(), forged({"alg": said, "kid": "es"}, good(), b"x")).reason is Refusal.JWT_ALGORITHM
    assert refused(bearers(), forged({"kid": "es"}, good(), b"x")).reason is Refusal.JWT_MALFORMED
    whole = ES.token(good())
    assert refused(bearers(), whole.rpartition(".")[0] + ".").reason is Refusal.JWT_MALFORMED
    assert refused(bearers(), whole.rpartition(".")[0]).reason is Refusal.JWT_MALFORMED


@pytest.mark.req("AUTH-1")
def test_a_public_key_is_no_shared_secret() -> None:
    """The classic confusion: the issuer's public RSA key, which everybody has, as the secret of an HMAC."""
    public = RS.key.public_key()
    forms = (
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
        json.dumps(RS.jwk()).encode(),
    )
    for secret in forms:
        unsigned = forged({"alg": "HS256", "kid": "rs", "typ": "JWT"}, good()).rpartition(".")[0]
        seal = hmac.new(secret, unsigned.encode(), sha256).digest()
        token = unsigned + "." + forged({}, {}, seal).rpartition(".")[2]
        assert refused(bearers(algorithms=EVERY), token).reason is Refusal.JWT_ALGORITHM


@pytest.mark.req("AUTH-1")
def test_a_key_verifies_only_signatures_of_its_kind() -> None:
    verifier = bearers(algorithms=EVERY)
    # Signed by the key named, but said to be of another algorithm: the key is not asked at all.
    swapped = forged({"alg": "RS256", "kid": "es"}, good(), b"x" * 64)
    assert refused(verifier, swapped).reason is Refusal.JWT_KEY
    pinned = Signer("rs", "PS256", RS.key)
    assert refused(verifier, pinned.token(good())).reason is Refusal.JWT_KEY


@pytest.mark.req("AUTH-1")
def test_an_algorithm_that_is_not_configured_is_refused_with_a_good_signature() -> None:
    verifier = bearers(algorithms=(JwtAlgorithm.RS256,))
    said = refused(verifier, ES.token(good()))
    assert said.reason is Refusal.JWT_ALGORITHM
    assert said.detail == "own: signed with 'ES256'; identity.jwt accepts RS256"


@pytest.mark.req("AUTH-1")
def test_a_signature_by_another_key_of_the_same_name_is_refused() -> None:
    said = refused(bearers(), Signer("es").token(good()))
    assert said.reason is Refusal.JWT_SIGNATURE
    assert said.message == "the token is not one that this gateway accepts"


@pytest.mark.req("AUTH-1")
def test_a_changed_claim_breaks_the_signature() -> None:
    head, _, seal = ES.token(good()).split(".")
    changed = forged({}, good(sub="root")).split(".")[1]
    assert refused(bearers(), f"{head}.{changed}.{seal}").reason is Refusal.JWT_SIGNATURE


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("extra", [{"crit": ["exp"]}, {"b64": False}, {"typ": "logout+jwt"}, {"typ": 7}, {"kid": 7}])
def test_a_header_that_asks_for_more_is_refused(extra: dict[str, Any]) -> None:
    token = forged({"alg": "ES256", "kid": "es", **extra}, good(), b"x" * 64)
    assert refused(bearers(), token).reason is Refusal.JWT_MALFORMED


@pytest.mark.req("AUTH-1")
def test_keys_in_a_header_are_not_looked_at() -> None:
    own = Signer("es")
    for header in ({"jwk": own.jwk()}, {"jku": "https://evil.example.org/keys"}, {"x5u": "https://evil.example.org"}):
        assert refused(bearers(), own.token(good(), **header)).reason is Refusal.JWT_SIGNATURE


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"iss": "https://evil.example.org"}, Refusal.JWT_ISSUER),
        ({"iss": "https://issuer.example.org/"}, Refusal.JWT_ISSUER),
        ({"iss": ["https://issuer.example.org"]}, Refusal.JWT_ISSUER),
        ({"iss": None}, Refusal.JWT_ISSUER),
        ({"aud": "another"}, Refusal.JWT_AUDIENCE),
        ({"aud": ["another", "one more"]}, Refusal.JWT_AUDIENCE),
        ({"aud": "interlock2"}, Refusal.JWT_AUDIENCE),
        ({"aud": {"interlock": True}}, Refusal.JWT_AUDIENCE),
        ({"aud": []}, Refusal.JWT_AUDIENCE),
        ({"aud": None}, Refusal.JWT_AUDIENCE),
        ({"exp": None}, Refusal.JWT_CLAIMS),
        ({"exp": "never"}, Refusal.JWT_CLAIMS),
        ({"exp": True}, Refusal.JWT_CLAIMS),
        ({"exp": -1}, Refusal.JWT_CLAIMS),
        ({"exp": 1_799_999_970}, Refusal.JWT_EXPIRED),
        ({"nbf": 1_800_000_031}, Refusal.JWT_NOT_YET),
        ({"iat": 1_800_000_031}, Refusal.JWT_NOT_YET),
        ({"nbf": "soon"}, Refusal.JWT_CLAIMS),
        ({"sub": None}, Refusal.JWT_CLAIMS),
        ({"sub": ""}, Refusal.JWT_CLAIMS),
        ({"sub": 7}, Refusal.JWT_CLAIMS),
        ({"sub": "a\nb"}, Refusal.JWT_CLAIMS),
        ({"sub": "a" * 201}, Refusal.JWT_CLAIMS),
        ({"groups": ["others"]}, Refusal.NO_ROLE),
        ({"groups": None}, Refusal.NO_ROLE),
        ({"groups": {"agents": 1}}, Refusal.NO_ROLE),
    ],
)
def test_a_token_for_others_for_another_time_or_about_nobody_is_refused(
    changed: dict[str, Any], reason: Refusal
) -> None:
    # PyJWT does not sign every one of these.
    signed = forged({"alg": "ES256", "kid": "es"}, good(**changed)).rpartition(".")[0]
    seal = forged({}, {}, jws_signature(signed)).rpartition(".")[2]
    assert refused(bearers(), f"{signed}.{seal}").reason is reason


def jws_signature(signed: str) -> bytes:
    import jwt

    return bytes(jwt.get_algorithm_by_name("ES256").sign(signed.encode(), ES.key))


@pytest.mark.req("AUTH-1")
def test_clocks_may_be_a_little_apart() -> None:
    verifier = bearers()
    for changed in ({"exp": 1_799_999_971}, {"nbf": 1_800_000_030}, {"iat": 1_800_000_030}):
        accepted(verifier, ES.token(good(**changed)))


@pytest.mark.req("AUTH-1")
def test_what_is_no_token_is_refused_without_falling_over() -> None:
    deep = "[" * 5000
    for text in ("x", "..", "a.b", "a.b.c.d", "e30.e30.e30", "é.e30.AA", ES.token(good()) + "=", "." * 100):
        assert refused(bearers(), text).reason is Refusal.JWT_MALFORMED
    nested = forged({"alg": "ES256"}, {"x": 1}).split(".")[0] + "." + _encoded(f'{{"x":{deep}') + ".AAAA"
    assert refused(bearers(), nested).reason is Refusal.JWT_MALFORMED
    twice = _encoded('{"alg":"none","alg":"ES256","kid":"es"}') + "." + _encoded("{}") + ".AAAA"
    assert refused(bearers(), twice).reason is Refusal.JWT_MALFORMED
    assert refused(bearers(), "a" * 8193).reason is Refusal.JWT_TOO_LARGE


def _encoded(text: str) -> str:
    import base64

    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.req("AUTH-1")
def test_without_a_key_name_the_only_key_that_fits_is_taken_and_none_of_several() -> None:
    nameless = forged({"alg": "ES256"}, good())
    signed = nameless.rpartition(".")[0]
    token = signed + "." + forged({}, {}, jws_signature(signed)).rpartition(".")[2]
    assert accepted(bearers(), token).id == "own:alice"
    several = bearers(ES.jwk(), Signer("other").jwk())
    several._issuers[settings().issuer].generation = 1
    assert not isinstance(_later(several, token), Principal)


def _later(verifier: JwtBearers, token: str) -> object:
    async def ask() -> object:
        found = verifier.principal(token)
        assert isinstance(found, asyncio.Task)
        found.cancel()
        return found

    return asyncio.run(ask())


@pytest.mark.req("AUTH-1", "AUTH-2", "CHK-6")
def test_grants_add_up_and_an_agent_who_would_decide_is_refused() -> None:
    grants = (
        GrantConfig(claim="groups", value="agents", roles=(Role.AGENT,)),
        GrantConfig(claim="groups", value="team-*", groups=("everyone",)),
        GrantConfig(claim="/realm_access/roles", value="op", roles=(Role.OPERATOR,), groups=("ops",)),
        GrantConfig(claim="email", value="boss@example.org", roles=(Role.APPROVER,)),
    )
    verifier = bearers(grants=grants, groups_claim="groups")
    found = accepted(verifier, ES.token(good(groups=["agents", "team-a", 7])))
    assert (found.roles, found.groups) == (frozenset({Role.AGENT}), ("everyone", "agents", "team-a"))
    boss = {"email": "boss@example.org", "email_verified": True}
    operator = accepted(verifier, ES.token(good(groups="x", realm_access={"roles": ["op"]}, **boss)))
    assert (operator.roles, operator.groups) == (frozenset({Role.OPERATOR, Role.APPROVER}), ("ops", "x"))
    for both in ({"realm_access": {"roles": ["op"]}}, boss):
        said = refused(verifier, ES.token(good(**both)))
        assert said.reason is Refusal.ROLES_CONTRADICT
        assert "an agent never decides about calls" in said.detail


@pytest.mark.req("AUTH-1", "AUTH-2")
@pytest.mark.parametrize("claim", ["email", "/email"])
def test_an_address_gives_a_role_only_when_it_was_verified(claim: str) -> None:
    verifier = bearers(grants=(GrantConfig(claim=claim, value="boss@*", roles=(Role.APPROVER,)),))
    assert accepted(verifier, ES.token(good(email="boss@example.org", email_verified=True))).roles == {Role.APPROVER}
    for said in (False, None, "true"):
        token = ES.token(good(email="boss@example.org", email_verified=said))
        assert refused(verifier, token).reason is Refusal.NO_ROLE


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("claim", ["email", "/email"])
def test_an_address_says_who_it_is_only_when_it_was_verified(claim: str) -> None:
    verifier = bearers(principal_claim=claim, claims=("email", "nothing"))
    found = accepted(verifier, ES.token(good(email="a@example.org", email_verified=True)))
    assert (found.id, found.claims) == ("own:a@example.org", {"email": "a@example.org"})
    for said in (False, None, "true", 1):
        token = ES.token(good(email="a@example.org", email_verified=said))
        assert refused(verifier, token).reason is Refusal.JWT_CLAIMS


@pytest.mark.req("AUTH-1")
def test_a_verified_token_is_known_again_until_it_ends_or_its_key_goes() -> None:
    clock = FixedClock()
    verifier = bearers(clock=clock)
    token = ES.token(good())
    first = accepted(verifier, token)
    assert accepted(verifier, token) is first
    known = verifier._issuers[settings().issuer]
    known._took(key_set(RS.jwk(), ES.jwk()))
    assert accepted(verifier, token) is not first
    known._took(key_set(RS.jwk(), Signer("es").jwk()))
    assert refused(verifier, token).reason is Refusal.JWT_SIGNATURE
    known._took(key_set(ES.jwk()))
    accepted(verifier, token)
    clock.at += 331
    assert refused(verifier, token).reason is Refusal.JWT_EXPIRED


@pytest.mark.req("AUTH-1")
def test_only_so_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bearer, "REMEMBERED", 3)
    verifier = bearers()
    for number in range(5):
        accepted(verifier, ES.token(good(sub=f"agent-{number}")))
    assert len(verifier._remembered) == 3


@pytest.mark.req("AUTH-1")
def test_keys_that_are_too_old_verify_nothing_not_even_what_was_verified_before() -> None:
    clock = FixedClock()
    verifier = bearers(clock=clock, keys_max_age_s=100)
    lasting = ES.token(good(exp=int(clock.at) + 10_000))
    accepted(verifier, lasting)
    clock.at += 101
    assert not isinstance(_later(verifier, lasting), Principal)
