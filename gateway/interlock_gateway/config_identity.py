"""The part of the configuration about who callers are (AUTH-1)."""

from typing import Annotated

from pydantic import Field

from interlock_gateway.config_section import Section
from interlock_gateway.core.session import Role


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


class IdentityConfig(Section):
    """Who callers are."""

    tokens: tuple[TokenConfig, ...] = ()
    """Static tokens, for small set-ups."""
    unix_agent: str = "local-agent"
    """The principal of whoever may open the agents' Unix socket."""
    unix_operator: str = "local-operator"
    """The principal of whoever may open the operators' Unix socket."""
    unix_operator_groups: tuple[str, ...] = ()
    """The groups of that principal, for checkpoints that ask for members of one."""
    anonymous_agents_on_loopback: bool = False
    """Let anyone who can reach a loopback address call tools, with no token, as principal `anonymous`."""
