"""What is not safe together, or cannot be listened on, among the addresses for other MCP gateways."""

from collections.abc import Iterator
from typing import TypeAlias

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.config_loader.identity_rules import ANONYMOUS, is_an_agents
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.tls_rules import UNENCRYPTED

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
_NOT_CALLERS = {
    ANONYMOUS: "anybody could speak for everybody",
    "local": "that is who comes through a Unix socket of extmcp.listen; choose another",
}


def extmcp_contradictions(config: Config) -> Found:
    """Every reason why the settings of ExtMCP are refused, each with the setting to change."""
    for name, words in _NOT_CALLERS.items():
        if name in config.extmcp.callers:
            yield ("extmcp", "callers"), f"extmcp.callers names {name}: {words}"
    agents = [name for name in config.extmcp.callers if is_an_agents(config, name) and name not in _NOT_CALLERS]
    for name in agents:
        words = (
            "an agent that speaks for others could make calls in anybody's name; give the gateway its own credential"
        )
        yield ("extmcp", "callers"), f"extmcp.callers names {name}, which is an agent: {words}"
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
