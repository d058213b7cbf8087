"""What is not safe together, or cannot be listened on, among the addresses of MCP."""

import ipaddress
from collections.abc import Iterator
from typing import TypeAlias

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.tls_rules import UNENCRYPTED

Found: TypeAlias = Iterator[tuple[SettingPath, str]]


def mcp_contradictions(config: Config) -> Found:
    """Every reason why the settings of MCP are refused, each with the setting to change."""
    for index, text in enumerate(config.mcp.listen):
        path: SettingPath = ("mcp", "listen", index)
        try:
            address = parse_address(config.at_state(text))
        except ValueError as error:
            yield path, f"{dotted(path)} {error}"
            continue
        if isinstance(address, TcpAddress) and not address.is_loopback:
            yield from _reachable(config, path, text, address)
    for index, host in enumerate(config.mcp.hosts):
        if not host or set(host) & set("/:@* "):
            place: SettingPath = ("mcp", "hosts", index)
            yield place, f"{dotted(place)} is a host's name alone, without scheme and port, not {host or 'empty'}"
    for index, origin in enumerate(config.mcp.origins):
        if not origin.startswith(("http://", "https://")):
            place = ("mcp", "origins", index)
            yield place, f"{dotted(place)} is a web origin, such as https://chat.example.com, not {origin or 'empty'}"


def _reachable(config: Config, path: SettingPath, text: str, address: TcpAddress) -> Found:
    name = dotted(path)
    if config.server.tls is None and not config.server.plaintext_beyond_loopback:
        yield path, f"{name} is {text}, which other hosts can reach, {UNENCRYPTED}"
    if config.identity.anonymous_agents_on_loopback:
        anonymous = "identity.anonymous_agents_on_loopback lets anyone in"
        words = (
            f"{anonymous}, and {name} is {text}, which other hosts can reach: use tokens, or listen on loopback only"
        )
        yield ("identity", "anonymous_agents_on_loopback"), words
    if _is_everywhere(address.host) and not config.mcp.hosts:
        yield ("mcp", "hosts"), f"mcp.hosts names no host, and {name} is {text}: say by which names clients reach it"


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
