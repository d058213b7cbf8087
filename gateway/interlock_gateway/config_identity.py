"""The part of the configuration about who callers are (AUTH-1)."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from interlock_gateway.config_section import Section
from interlock_gateway.core.session import Role

LARGEST_TOKEN = 12 * 1024
"""The largest bearer token that may be configured, in bytes: all header fields of a request have 16 KiB."""


class TokenConfig(Section):
    """One static token, hashed at rest: make it with `interlock init` or `interlock token`."""

    principal: Annotated[str, Field(min_length=1, max_length=256)]
    """The principal's id, as it appears in policies and receipts."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the token, in hex. Tokens are 256 random bits, so a plain hash cannot be guessed back."""
    roles: tuple[Role, ...] = (Role.AGENT,)
    """What the token's bearer may do."""
    groups: tuple[str, ...] = ()
    """Groups the bearer belongs to, for policies and approvals."""


class CertificateConfig(Section):
    """Whom a client's certificate stands for: exactly one of `spiffe` and `subject` says which certificates."""

    spiffe: Annotated[str, Field(max_length=2048)] = ""
    """The SPIFFE ID, such as `spiffe://example.org/ns/prod/sa/agent`; a `*` stands for anything within one segment of
    the path, and never in the trust domain. The certificate must have this one URI and no other."""
    subject: Annotated[str, Field(max_length=1024)] = ""
    """The whole subject, as RFC 4514 writes it: `CN=agent,O=Example`. For certificates without a SPIFFE ID."""
    principal: Annotated[str, Field(max_length=256)] = ""
    """The principal's id; without it, the SPIFFE ID, or `x509:` and the subject."""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    """What the certificate's holder may do."""
    groups: tuple[str, ...] = ()
    """Groups that the holder belongs to, for policies and approvals."""


class MtlsConfig(Section):
    """Clients that are known by their certificates, which `server.tls.client_ca_file` vouches for."""

    principals: tuple[CertificateConfig, ...] = ()
    """Who they are, in the order in which they are tried; the first that fits counts. Who fits none is nobody."""


class JwtAlgorithm(StrEnum):
    """Signatures of tokens that may be accepted: none with a shared secret, and never none at all."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    EDDSA = "EdDSA"


class GrantConfig(Section):
    """What those may do in whose tokens a claim has a value."""

    claim: Annotated[str, Field(min_length=1, max_length=256)]
    """The claim, text or a list of texts. One inside another is written as a JSON pointer: `/realm_access/roles`."""
    value: Annotated[str, Field(min_length=1, max_length=1024)]
    """What it is or holds; with a `*` at the end, what that begins with."""
    roles: tuple[Role, ...] = ()
    """What they may do."""
    groups: tuple[str, ...] = ()
    """Groups that they belong to."""


class JwtConfig(Section):
    """An issuer of tokens: an OpenID provider, or a cluster's own."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
    """The issuer's name here: its principals are `NAME:` and the value of `principal_claim`."""
    issuer: Annotated[str, Field(max_length=2048)]
    """What `iss` is in its tokens, and where its discovery document is. `https://`, or `http://` on this machine."""
    audience: Annotated[tuple[str, ...], Field(min_length=1)]
    """Whom its tokens are for: one of these is in `aud`. Never an audience that others accept too."""
    algorithms: Annotated[tuple[JwtAlgorithm, ...], Field(min_length=1)] = (JwtAlgorithm.RS256, JwtAlgorithm.ES256)
    """The signatures that are accepted."""
    jwks_url: Annotated[str, Field(max_length=2048)] = ""
    """Where its keys are; without it, where its discovery document says."""
    ca_file: Path | None = None
    """The authorities, in PEM, that its certificate is checked against; without one, the system's."""
    token_file: Path | None = None
    """A file with a bearer token that is sent when keys are fetched, as a cluster's own issuer asks for."""
    principal_claim: Annotated[str, Field(min_length=1, max_length=256)] = "sub"
    """The claim that says who it is. It must never name two people, nor change; `email` counts only when verified."""
    groups_claim: Annotated[str, Field(max_length=256)] = ""
    """The claim with the caller's groups, taken as they are: only where the issuer decides who is in which. Without
    it, groups come from `grants` alone."""
    grants: Annotated[tuple[GrantConfig, ...], Field(min_length=1)]
    """Who may do what: every grant that fits counts. Who has no role by them is refused."""
    claims: tuple[str, ...] = ()
    """Claims that policies see, as `principal.claims`."""
    leeway_s: Annotated[float, Field(ge=0, le=120)] = 30.0
    """How far the clocks of issuer and gateway may be apart."""
    max_token_bytes: Annotated[int, Field(ge=256, le=LARGEST_TOKEN)] = 8 * 1024
    """The largest token that is looked at."""
    refresh_s: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """How often its keys are fetched. Besides, a token with an unknown key has them fetched, at most every 5 s."""
    keys_max_age_s: Annotated[float, Field(ge=1, le=7 * 86_400)] = 14_400.0
    """How long its keys count when it cannot be reached; then its tokens are refused."""


class IdentityConfig(Section):
    """Who callers are."""

    tokens: tuple[TokenConfig, ...] = ()
    """Static tokens, for small set-ups."""
    mtls: MtlsConfig = MtlsConfig()
    jwt: tuple[JwtConfig, ...] = ()
    """Issuers whose tokens are accepted."""
    unix_agent: str = "local-agent"
    """The principal of whoever may open the agents' Unix socket."""
    unix_operator: str = "local-operator"
    """The principal of whoever may open the operators' Unix socket."""
    unix_operator_groups: tuple[str, ...] = ()
    """The groups of that principal, for checkpoints that ask for members of one."""
    anonymous_agents_on_loopback: bool = False
    """Let anyone who can reach a loopback address call tools, with no token, as principal `anonymous`."""
