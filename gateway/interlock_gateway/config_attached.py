"""The part of the configuration about providers that attach themselves (contract.md, ProviderHubService)."""

from typing import Annotated, Literal

from pydantic import Field

from interlock_gateway.config_section import Section


class AttachedProviderConfig(Section):
    """What the operator says of the providers that a principal attaches."""

    principal: Annotated[str, Field(min_length=1, max_length=512)]
    """Who attaches them."""
    name: Annotated[str, Field(pattern=r"^(\*|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$")] = "*"
    """The name that the provider gives itself; `*` stands for every one of the principal's."""
    trust: Literal["declared", "floor"] = "floor"
    """`declared`: what it declares is believed; `floor`: it can only make a tool look less safe (TOOL-3)."""
    pins: Literal["enforce", "follow"] = "enforce"
    """`enforce` quarantines a changed definition until an operator approves it; `follow` accepts it (TOOL-5)."""
    shared: bool = False
    """Its tools are there for everybody's sessions, and not only for those of the principal."""


class AttachedConfig(Section):
    """Providers that dial the gateway, such as tools inside an agent's own process."""

    enabled: bool = True
    """Let agents and providers attach tools. They are there for the sessions of the same principal alone, and what they
    declare is not believed, unless an entry of `providers` says otherwise."""
    max_providers: Annotated[int, Field(ge=1, le=10_000)] = 256
    """Providers that are attached at once; more are refused with RESOURCE_EXHAUSTED."""
    max_per_principal: Annotated[int, Field(ge=1, le=1000)] = 16
    """How many of them one principal may have."""
    providers: tuple[AttachedProviderConfig, ...] = ()
    """Principals whose providers are believed, or there for everybody. The first entry that fits counts."""
