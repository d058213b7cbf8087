"""The gateway's own tools, offered to agents like any other: for previews, stored results and deferred tools."""

from interlock_gateway.gatewaytools.discovery import DiscoveryTools
from interlock_gateway.gatewaytools.provider import DEFINITIONS, GatewayTools

__all__ = ["DEFINITIONS", "DiscoveryTools", "GatewayTools"]
