"""An issuer's keys are fetched from where they should be, and nothing else that an issuer may answer is believed."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.identity.oidc import fetching
from interlock_gateway.identity.oidc.fetching import fetch_keys
from interlock_gateway.identity.oidc.keys import KeysError
from token_issuer import IssuerServer, http, issuing, settings

WELL_KNOWN = "/.well-known/openid-configuration"


@pytest.fixture
async def issuer() -> AsyncIterator[IssuerServer]:
    async with issuing() as made:
        yield made


def of(issuer: IssuerServer, **changed: Any) -> JwtConfig:
    return settings(**{"issuer": issuer.url, **changed})


async def problem(config: JwtConfig) -> str:
    with pytest.raises(KeysError) as caught:
        await fetch_keys(config)
    return caught.value.message


@pytest.mark.req("AUTH-1")
async def test_keys_are_found_by_discovery_or_where_the_configuration_says(issuer: IssuerServer) -> None:
    found = await fetch_keys(of(issuer))
    assert [key.kid for key in found.keys] == ["first"]
    assert issuer.asked == [WELL_KNOWN, "/keys"]
    issuer.asked.clear()
    await fetch_keys(of(issuer, jwks_url=f"{issuer.url}/keys"))
    assert issuer.asked == ["/keys"]


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"issuer": "https://another.example.org"}, "is of the issuer"),
        ({"issuer": None}, "is of the issuer"),
        ({"jwks_uri": None}, "is none"),
        ({"jwks_uri": "http://keys.example.org/keys"}, "must begin with https://"),
        ({"jwks_uri": "file:///etc/passwd"}, "must begin with https://"),
        ({"jwks_uri": "https://user:secret@keys.example.org/"}, "holds a name or a password"),
    ],
)
async def test_a_discovery_document_speaks_for_its_issuer_alone(
    issuer: IssuerServer, changed: dict[str, Any], said: str
) -> None:
    issuer.answers[WELL_KNOWN] = lambda: http(issuer.discovery(**changed))
    assert said in await problem(of(issuer))
    assert issuer.asked == [WELL_KNOWN]


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_no_redirect_is_followed(issuer: IssuerServer, status: str) -> None:
    issuer.answers[WELL_KNOWN] = lambda: http(b"", status, location=f"{issuer.url}/elsewhere")
    assert f"HTTP {status.split(' ', maxsplit=1)[0]}" in await problem(of(issuer))
    assert issuer.asked == [WELL_KNOWN]


@pytest.mark.req("AUTH-1")
async def test_no_more_is_read_than_keys_can_have(issuer: IssuerServer) -> None:
    huge = b" " * (fetching.MOST_BYTES + 1)
    issuer.answers["/keys"] = lambda: http(huge)
    assert "has more than 262144 bytes" in await problem(of(issuer))


@pytest.mark.req("AUTH-1")
async def test_an_issuer_that_does_not_answer_is_given_up(
    issuer: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_S", 0.2)
    issuer.hold = asyncio.Event()
    assert "it took more than" in await problem(of(issuer))


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"\xff\xfe", b'{"keys": []}', b"{" * 100_000])
async def test_what_is_no_answer_is_no_key(issuer: IssuerServer, body: bytes) -> None:
    issuer.answers["/keys"] = lambda: http(body)
    await problem(of(issuer))
    issuer.answers[WELL_KNOWN] = lambda: http(body)
    await problem(of(issuer))


async def test_an_issuer_that_is_not_there_is_named_as_such(issuer: IssuerServer) -> None:
    assert "it cannot be reached: ConnectError" in await problem(settings(issuer="http://127.0.0.1:1"))
    issuer.answers[WELL_KNOWN] = lambda: http(b"{}", "503 Unavailable")
    assert await problem(of(issuer)) == f"{issuer.url}{WELL_KNOWN} is answered with HTTP 503"


async def test_authorities_that_are_none_are_said(issuer: IssuerServer, tmp_path: Path) -> None:
    assert "ca_file cannot be used" in await problem(of(issuer, ca_file=tmp_path / "nothing"))
    (tmp_path / "ca").write_text("none")
    assert "ca_file cannot be used" in await problem(of(issuer, ca_file=tmp_path / "ca"))


@pytest.mark.req("AUTH-1")
async def test_a_token_for_the_keys_goes_to_the_issuer_and_nowhere_else(issuer: IssuerServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("for-the-issuer\n")
    await fetch_keys(of(issuer, token_file=file))
    assert all("authorization: Bearer for-the-issuer" in head for head in issuer.heads)
    async with issuing() as elsewhere:
        issuer.answers[WELL_KNOWN] = lambda: http(
            json.dumps({"issuer": issuer.url, "jwks_uri": f"{elsewhere.url}/keys"}).encode()
        )
        await fetch_keys(of(issuer, token_file=file))
        assert "authorization" not in elsewhere.heads[0].lower()
    file.write_text("two words")
    assert "token_file holds no token" in await problem(of(issuer, token_file=file))
