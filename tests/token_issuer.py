"""An issuer of tokens of our own: it signs what tests ask for, and serves its keys well, badly, late or not at all."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from interlock_gateway.config_identity import GrantConfig, JwtConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.oidc.keys import KeySet, read_keys

NAME = "https://issuer.example.org"
AUDIENCE = "interlock"


def made(algorithm: str) -> Any:
    """A private key for `algorithm`."""
    if algorithm.startswith(("RS", "PS")):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
    return ec.generate_private_key(curve)


@dataclass
class Signer:
    """One key that signs tokens."""

    kid: str
    algorithm: str = "ES256"
    key: Any = None

    def __post_init__(self) -> None:
        self.key = self.key or made(self.algorithm)

    def jwk(self, **changed: Any) -> dict[str, Any]:
        """The public key as a JWKS has it."""
        shown = jwt.get_algorithm_by_name(self.algorithm).to_jwk(self.key.public_key(), as_dict=True)
        shown.pop("key_ops", None)
        return {**shown, "kid": self.kid, "use": "sig", "alg": self.algorithm, **changed}

    def token(self, claims: dict[str, Any], **header: Any) -> str:
        """A token with `claims`; `header` adds to its header, or with `None` takes away from it."""
        return jwt.encode(claims, self.key, self.algorithm, headers={"kid": self.kid, **header})


def claims(now: float, **changed: Any) -> dict[str, Any]:
    """Those of a good token at the Unix time `now`; `None` leaves one out."""
    good = {
        "iss": NAME,
        "aud": AUDIENCE,
        "sub": "alice",
        "exp": int(now) + 300,
        "iat": int(now) - 1,
        "groups": ["agents"],
    }
    return {name: value for name, value in {**good, **changed}.items() if value is not None}


def settings(**changed: Any) -> JwtConfig:
    """The configuration that accepts them."""
    return JwtConfig(
        **{
            "name": "own",
            "issuer": NAME,
            "audience": (AUDIENCE,),
            "grants": (GrantConfig(claim="groups", value="agents", roles=(Role.AGENT,)),),
            **changed,
        }
    )


def forged(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    """A token put together by hand."""
    parts = (json.dumps(header).encode(), json.dumps(body).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


class FixedClock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def key_set(*keys: dict[str, Any]) -> KeySet:
    """What `keys` are as a JWKS."""
    return read_keys(json.dumps({"keys": list(keys)}).encode())


@dataclass
class IssuerServer:
    """Serves discovery and keys on loopback. `answers` replaces what is answered at a path."""

    url: str = ""
    signers: list[Signer] = field(default_factory=lambda: [Signer("first")])
    answers: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hold: asyncio.Event | None = None
    heads: list[str] = field(default_factory=list)

    def jwks(self) -> bytes:
        """Its keys."""
        return json.dumps({"keys": [signer.jwk() for signer in self.signers]}).encode()

    def discovery(self, **changed: Any) -> bytes:
        """Its discovery document."""
        return json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **changed}).encode()

    def answer(self, path: str) -> bytes:
        """All of what is sent back."""
        if path in self.answers:
            return self.answers[path]()
        body = {"/keys": self.jwks, "/.well-known/openid-configuration": self.discovery}.get(path)
        return http(body()) if body is not None else http(b"{}", "404 Not Found")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            self.asked.append(path)
            self.heads.append(head)
            if self.hold is not None:
                await self.hold.wait()
            writer.write(self.answer(path))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """An HTTP answer."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{more}\r\n".encode() + body


@asynccontextmanager
async def issuing() -> AsyncIterator[IssuerServer]:
    """An issuer that answers inside the block."""
    issuer = IssuerServer()
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0)
    issuer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield issuer
    finally:
        if issuer.hold is not None:
            issuer.hold.set()
        server.close()
        await server.wait_closed()
