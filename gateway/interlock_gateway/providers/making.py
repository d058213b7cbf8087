"""A provider of the kind that its configuration asks for."""

from collections.abc import Callable

from interlock_gateway.config_providers import ProviderConfig
from interlock_gateway.providers.grpc_provider import GrpcProvider
from interlock_gateway.providers.kept import KeptProvider
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.target import target_of


def made_provider(
    spec: ProviderConfig, at_state: Callable[[str], str], max_message_bytes: int, clients: Clients
) -> KeptProvider:
    """The provider that `spec` describes, not connected yet. `at_state` replaces `{state}`."""
    if spec.mcp is not None:
        target = target_of(spec.mcp, spec.tls, at_state, max_message_bytes)
        return McpProvider(spec.name, target, prefix=spec.prefix, clients=clients)
    address = at_state(spec.address)
    return GrpcProvider(spec.name, address, max_message_bytes=max_message_bytes, token=spec.token, tls=spec.tls)
