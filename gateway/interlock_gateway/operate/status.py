"""How the gateway is: its parts, whether it serves, what waits (contract.md, AdminService; LIFE-7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the gateway and whether it works."""

    name: str
    healthy: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class GatewayState:
    """The gateway at one moment. `serving` is what health says; times are Unix seconds."""

    version: str
    replica: str
    started_at: float
    serving: bool
    draining: bool
    profile: str
    policy_revision: str
    components: tuple[Component, ...]
    calls_in_flight: int
    audit_backlog: int
    audit_lost: int
