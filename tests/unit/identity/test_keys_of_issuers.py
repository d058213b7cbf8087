"""An issuer's keys: which of them verify anything, and when they are fetched, whatever tokens come."""

import asyncio
import json
import time
from typing import Any

import jwt
import pytest
from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.core.session import Principal
from interlock_gateway.identity.oidc import bearer, issuer
from interlock_gateway.identity.oidc.bearer import JwtBearers
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.oidc.keys import KeysError, KeySet, read_keys
from interlock_gateway.identity.refusals import Refusal, RefusedError
from token_issuer import FixedClock, Signer, claims, key_set, settings

ES, RS = Signer("es"), Signer("rs", "RS256")


def accepted(verifier: JwtBearers, token: str) -> Principal:
    found = verifier.principal(token)
    assert isinstance(found, Principal)
    return found


def refused(verifier: JwtBearers, token: str) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        verifier.principal(token)
    return caught.value


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    "changed",
    [
        {"use": "enc"},
        {"key_ops": ["sign"]},
        {"key_ops": "verify"},
        {"alg": "ES384"},
        {"alg": "HS256"},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"crv": "secp256k1"},
        {"x": "AAAA"},
        {"x": "=!"},
        {"kid": 7},
    ],
)
def test_a_key_that_is_not_for_verifying_is_left_out(changed: dict[str, Any]) -> None:
    odd = ES.jwk(**changed)
    with pytest.raises(KeysError, match="no key that verifies"):
        key_set(odd)
    assert len(key_set(odd, RS.jwk()).keys) == 1


def test_a_short_rsa_key_is_left_out() -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    short = Signer("s", "RS256", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    with pytest.raises(KeysError, match="no key that verifies"):
        key_set(short.jwk())


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"keys": 7}', b"\xff", json.dumps({"keys": [{}] * 65}).encode()])
def test_what_is_no_jwks_is_refused(raw: bytes) -> None:
    with pytest.raises(KeysError):
        read_keys(raw)


@pytest.mark.req("AUTH-1")
async def test_bad_tokens_cause_few_fetches_and_hold_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    fetches: list[float] = []
    clock = FixedClock()
    clock.at = time.time()

    async def counted(_: JwtConfig) -> KeySet:
        fetches.append(clock.at)
        return key_set(ES.jwk())

    monkeypatch.setattr(issuer, "WAIT_S", 0.2)
    known = Issuer(settings(), clock, counted, pause_s=0.05)
    another = Issuer(settings(name="another", issuer="https://another.example.org"), clock, counted)
    verifier = JwtBearers([known, another], clock)
    keeping = asyncio.create_task(known.run())
    try:
        await known.fetched_anew("")
        good_token = ES.token(claims(clock.at))
        waiting = [
            verifier.principal(Signer(f"k{n}", key=ES.key).token(claims(clock.at))) for n in range(bearer.MOST_WAITING)
        ]
        with pytest.raises(RefusedError) as full:
            verifier.principal(Signer("one-more").token(claims(clock.at)))
        assert full.value.reason is Refusal.KEYS_UNAVAILABLE
        # Those of another issuer are not kept out by that.
        others = verifier.principal(ES.token({**claims(clock.at), "iss": "https://another.example.org"}))
        assert isinstance(others, asyncio.Task)
        others.cancel()
        assert accepted(verifier, good_token).id == "own:alice"
        ended = await asyncio.gather(*(one for one in waiting if isinstance(one, asyncio.Task)), return_exceptions=True)
        assert {one.reason for one in ended if isinstance(one, RefusedError)} == {Refusal.JWT_KEY}
        assert len(ended) == bearer.MOST_WAITING
        assert len(fetches) <= 3
        # Asked for a moment ago, and not there: no fetch at all.
        before = len(fetches)
        assert refused(verifier, Signer("k1").token(claims(clock.at))).reason is Refusal.JWT_KEY
        assert len(fetches) == before
    finally:
        keeping.cancel()


@pytest.mark.req("AUTH-1")
async def test_an_issuer_that_is_down_refuses_for_now_and_goes_on_when_it_is_back() -> None:
    clock = FixedClock()
    clock.at = time.time()
    down = True

    async def fetched(_: JwtConfig) -> KeySet:
        if down:
            raise KeysError("it cannot be reached")
        return key_set(ES.jwk())

    known = Issuer(settings(), clock, fetched, pause_s=0.01)
    verifier = JwtBearers([known], clock)
    keeping = asyncio.create_task(known.run())
    try:
        token = ES.token(claims(clock.at))
        waiting = verifier.principal(token)
        assert isinstance(waiting, asyncio.Task)
        with pytest.raises(RefusedError) as caught:
            await waiting
        assert caught.value.reason is Refusal.KEYS_UNAVAILABLE
        assert "it cannot be reached" in caught.value.detail
        assert known.told == "no keys: it cannot be reached"
        down = False
        waiting = verifier.principal(token)
        assert isinstance(waiting, asyncio.Task)
        assert (await waiting).id == "own:alice"
        down = True
        await asyncio.wait_for(_failed(known), 5)
        assert accepted(verifier, ES.token(claims(clock.at, sub="bob"))).id == "own:bob"
    finally:
        keeping.cancel()


async def _failed(known: Issuer) -> None:
    with pytest.raises(KeysError):
        await known.fetched_anew("nobody-has-this")


@pytest.mark.req("AUTH-1")
async def test_a_token_that_names_no_key_of_several_is_refused_and_not_asked_about_again() -> None:
    clock, fetches = FixedClock(), 0
    clock.at = time.time()

    async def fetched(_: JwtConfig) -> KeySet:
        nonlocal fetches
        fetches += 1
        return key_set(ES.jwk(), Signer("another").jwk())

    known = Issuer(settings(), clock, fetched, pause_s=0.01)
    verifier = JwtBearers([known], clock)
    keeping = asyncio.create_task(known.run())
    try:
        nameless = jwt.encode(claims(clock.at), ES.key, "ES256")
        waiting = verifier.principal(nameless)
        assert isinstance(waiting, asyncio.Task)
        with pytest.raises(RefusedError) as caught:
            await waiting
        assert caught.value.reason is Refusal.JWT_KEY
        before = fetches
        assert refused(verifier, nameless).reason is Refusal.JWT_KEY
        assert fetches == before
    finally:
        keeping.cancel()
