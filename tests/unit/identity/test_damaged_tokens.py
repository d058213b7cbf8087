"""Whatever becomes of a token on its way, it stands for whom it was made for, or for nobody."""

import string

from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.core.session import Principal
from interlock_gateway.identity.oidc.bearer import JwtBearers
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.oidc.keys import KeysError
from interlock_gateway.identity.refusals import RefusedError
from token_issuer import FixedClock, Signer, claims, forged, key_set
from token_issuer import settings as accepting

CLOCK = FixedClock()
SIGNER = Signer("es")
GOOD = SIGNER.token(claims(CLOCK.now()))
LETTERS = string.ascii_letters + string.digits + "-_.=+/ \n\0"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


async def nobody(_: object) -> object:
    raise KeysError("nobody is there")


def verifier() -> JwtBearers:
    known = Issuer(accepting(), CLOCK, nobody)  # type: ignore[arg-type]  # it is never asked
    known._took(key_set(SIGNER.jwk()))
    return JwtBearers([known], CLOCK)


def outcome(token: str) -> str:
    """Whom the token stands for; empty for nobody, now or once a key was asked for."""
    try:
        found = verifier().principal(token)
    except RefusedError:
        return ""
    except RuntimeError:  # there is no loop to ask for a key on
        return ""
    assert isinstance(found, Principal)
    return found.id


@settings(deadline=None, max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.sampled_from(LETTERS))
def test_a_changed_letter(place: int, letter: str) -> None:
    assert outcome(GOOD[:place] + letter + GOOD[place + 1 :]) in {"", "own:alice"}


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet=LETTERS, max_size=300))
def test_any_text(text: str) -> None:
    assert outcome(text) == ""


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(st.sampled_from(("alg", "kid", "typ", "crit", "b64", "jwk")), json_values, max_size=6),
    st.dictionaries(st.sampled_from(("iss", "aud", "exp", "sub", "nbf", "iat", "groups")), json_values, max_size=7),
    st.binary(max_size=80),
)
def test_any_header_and_claims_without_the_key(header: dict[str, object], body: dict[str, object], seal: bytes) -> None:
    assert outcome(forged({"alg": "ES256", "kid": "es", **header}, {**claims(CLOCK.now()), **body}, seal)) == ""
