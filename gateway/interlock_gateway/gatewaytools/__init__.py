"""The gateway's own tools: `resolve`, `read_artifact`, `search_artifact`, offered to agents like any other (ART-3)."""

from interlock_gateway.gatewaytools.provider import DEFINITIONS, GatewayTools

__all__ = ["DEFINITIONS", "GatewayTools"]
