"""What is not safe together, or cannot be listened on, among the addresses for other MCP gateways."""

from collections.abc import Iterator
from typing import TypeAlias

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.tls_rules import UNENCRYPTED

Found: TypeAlias = Iterator[tuple[SettingPath, str]]


def extmcp_contradictions(config: Config) -> Found:
    """Every reason why the settings of ExtMCP are refused, each with the setting to change."""
    for index, text in enumerate(config.extmcp.listen):
        path: SettingPath = ("extmcp", "listen", index)
        try:
            address = parse_address(config.at_state(text))
        except ValueError as error:
            yield path, f"{dotted(path)} {error}"
            continue
        if isinstance(address, TcpAddress):
            yield from _tcp(config, path, text, address)


def _tcp(config: Config, path: SettingPath, text: str, address: TcpAddress) -> Found:
    if not config.extmcp.callers:
        yield ("extmcp", "callers"), f"extmcp.callers is empty, and {dotted(path)} is {text}: nobody could ask there"
    if not address.is_loopback and config.server.tls is None and not config.server.plaintext_beyond_loopback:
        yield path, f"{dotted(path)} is {text}, which other hosts can reach, {UNENCRYPTED}"
    if "anonymous" in config.extmcp.callers:
        yield ("extmcp", "callers"), "extmcp.callers names anonymous: anybody could speak for everybody"
