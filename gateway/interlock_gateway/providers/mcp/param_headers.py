"""Arguments that a tool wants to have in headers too, on the newest revision (`x-mcp-header`)."""

from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from interlock_gateway.errors import ProviderFailedError


def headers_of(tool: Mapping[str, Any]) -> Mapping[tuple[str, ...], str]:
    """Which argument goes into which header. Raises `ProviderFailedError` for annotations that are not allowed."""
    schema = tool.get("inputSchema")
    if (reason := find_invalid_x_mcp_header(schema)) is not None:
        raise ProviderFailedError(f"its x-mcp-header annotations are not allowed: {reason}")
    return x_mcp_header_map(schema)
