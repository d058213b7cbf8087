"""An issuer's keys, fetched from where the configuration or its discovery document says (OpenID Connect Discovery 1.0).

Nothing of what comes is believed beyond its bounds: no redirect is followed, no proxy asked, no more read than fits.
"""

import asyncio
import logging
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.config_loader.identity_rules import url_problem
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.identity.oidc.keys import KeysError, KeySet, read_keys

FETCH_S = 5.0
"""The longest that one fetch may take, discovery and keys, however slowly they drip."""
MOST_BYTES = 256 * 1024
_DISCOVERY = "/.well-known/openid-configuration"
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "interlock"}
_OK = 200
# At other levels these write down whole addresses and headers, which hold secrets.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


async def fetch_keys(issuer: JwtConfig) -> KeySet:
    """The keys of `issuer` as it has them now. Raises `KeysError` with why they cannot be had."""
    try:
        async with asyncio.timeout(FETCH_S):
            headers = dict(_HEADERS)
            # Authorities and token are read each time: both are changed under us.
            verify = await asyncio.to_thread(_trust, issuer.ca_file)
            if issuer.token_file is not None:
                headers["authorization"] = f"Bearer {await asyncio.to_thread(_token, issuer.token_file)}"
            async with httpx2.AsyncClient(
                follow_redirects=False, trust_env=False, verify=verify, timeout=FETCH_S
            ) as client:
                return await _fetched(client, issuer, headers)
    except TimeoutError:
        raise KeysError(f"it took more than {FETCH_S:.0f} s") from None
    except httpx2.InvalidURL:
        raise KeysError("an address of it is none") from None
    except httpx2.HTTPError as error:
        raise KeysError(f"it cannot be reached: {type(error).__name__}: {error}") from None


async def _fetched(client: httpx2.AsyncClient, issuer: JwtConfig, headers: dict[str, str]) -> KeySet:
    place = issuer.jwks_url
    if not place:
        raw = await _read(client, issuer.issuer.rstrip("/") + _DISCOVERY, headers)
        place = _place_of_keys(raw, issuer.issuer)
        if _origin(place) != _origin(issuer.issuer):
            headers.pop("authorization", None)
    return read_keys(await _read(client, place, headers))


def _place_of_keys(raw: bytes, issuer: str) -> str:
    """Where the keys are, by a discovery document that speaks for `issuer` and for nobody else (section 4.3)."""
    try:
        document = parse(raw, max_depth=16).value
    except InvalidDocumentError as error:
        raise KeysError(f"its discovery document is no JSON: {error.message}") from None
    said, place = document.get("issuer"), document.get("jwks_uri")
    if said != issuer:
        raise KeysError(f"its discovery document is of the issuer {str(said)[:200]!r}")
    if not isinstance(place, str) or (problem := url_problem(place)):
        raise KeysError(f"the jwks_uri in its discovery document {problem if isinstance(place, str) else 'is none'}")
    return place


async def _read(client: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> bytes:
    raw = bytearray()
    async with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code != _OK:
            raise KeysError(f"{url} is answered with HTTP {answer.status_code}")
        async for piece in answer.aiter_raw():
            raw += piece
            if len(raw) > MOST_BYTES:
                raise KeysError(f"{url} has more than {MOST_BYTES} bytes")
    return bytes(raw)


def _trust(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ValueError) as error:
        raise KeysError(f"ca_file cannot be used: {_reason(error)}") from None


def _token(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KeysError(f"token_file cannot be read: {_reason(error)}") from None
    if not token or not token.isprintable() or " " in token:
        raise KeysError("token_file holds no token")
    return token


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
