"""What no single key can say: settings that contradict each other, or that are not safe together."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import TypeAlias

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import Address, TcpAddress, UnixAddress, parse_address
from interlock_gateway.config_loader.approval_rules import approval_contradictions
from interlock_gateway.config_loader.extmcp_rules import extmcp_contradictions
from interlock_gateway.config_loader.identity_rules import identity_contradictions, url_problem
from interlock_gateway.config_loader.mcp_rules import mcp_contradictions
from interlock_gateway.config_loader.policy_rules import policy_contradictions
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.provider_rules import provider_contradictions
from interlock_gateway.config_loader.tls_rules import UNENCRYPTED, tls_contradictions

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ANONYMOUS_WAY_OUT = "use tokens, or listen on loopback only"
_STORES = ("file://", "s3://", "gs://", "az://")


def contradictions(config: Config) -> Found:
    """Every reason why `config` is refused, each with the setting to change; the sentence names it."""
    yield from _placeholders(config)
    yield from _agent_listeners(config)
    yield from _operator_listeners(config)
    yield from mcp_contradictions(config)
    yield from extmcp_contradictions(config)
    yield from _sockets_shared(config)
    yield from _other_addresses(config)
    yield from _collector(config)
    yield from identity_contradictions(config)
    yield from tls_contradictions(config)
    yield from provider_contradictions(config)
    yield from approval_contradictions(config)
    yield from policy_contradictions(config)
    yield from _places(config)


def _agent_listeners(config: Config) -> Found:
    if not config.server.listen:
        yield ("server", "listen"), "server.listen is empty: no agent could reach the gateway"
    for index, (text, address) in enumerate(_parsed(config, config.server.listen)):
        path = ("server", "listen", index)
        name = f"server.listen[{index}]"
        if isinstance(address, str):
            yield path, f"{name} {address}"
        elif isinstance(address, TcpAddress) and not address.is_loopback:
            if config.server.tls is None and not config.server.plaintext_beyond_loopback:
                yield path, f"{name} is {text}, which other hosts can reach, {UNENCRYPTED}"
            if config.identity.anonymous_agents_on_loopback:
                anonymous = "identity.anonymous_agents_on_loopback lets anyone in"
                refusal = f"{anonymous}, and {name} is {text}, which other hosts can reach: {_ANONYMOUS_WAY_OUT}"
                yield ("identity", "anonymous_agents_on_loopback"), refusal


def _operator_listeners(config: Config) -> Found:
    for index, (text, address) in enumerate(_parsed(config, config.server.operator_listen)):
        name = f"server.operator_listen[{index}]"
        if isinstance(address, TcpAddress):
            yield (
                ("server", "operator_listen", index),
                f"{name} is {text}: an operator is whoever may open a Unix socket, so it must be unix:PATH",
            )
        elif isinstance(address, str):
            yield ("server", "operator_listen", index), f"{name} {address}"


def _sockets_shared(config: Config) -> Found:
    listening = {
        ("server", "listen"): config.server.listen,
        ("server", "operator_listen"): config.server.operator_listen,
        ("mcp", "listen"): config.mcp.listen,
        ("extmcp", "listen"): config.extmcp.listen,
    }
    paths: dict[SettingPath, str] = {}
    for key, texts in listening.items():
        for index, (_, address) in enumerate(_parsed(config, texts)):
            if isinstance(address, UnixAddress):
                paths[*key, index] = address.path
    shared = {path for path, count in Counter(paths.values()).items() if count > 1}
    for place, path in list(paths.items())[::-1]:
        if path in shared:
            shared.discard(path)
            names = "server.listen, server.operator_listen, mcp.listen and extmcp.listen"
            words = f"{names} share no socket, and none is named twice"
            yield place, f"{path} is used for two listeners; {words}"


def _other_addresses(config: Config) -> Found:
    tcp = {("metrics", "listen"): config.metrics.listen, ("server", "health_listen"): config.server.health_listen}
    for path, text in tcp.items():
        address = _parse(text) if text else None
        if isinstance(address, UnixAddress):
            yield path, f"{dotted(path)} must be HOST:PORT, not a Unix socket"
        elif isinstance(address, str):
            yield path, f"{dotted(path)} {address}"


def _collector(config: Config) -> Found:
    tracing = config.tracing
    in_the_open = (
        bool(tracing.endpoint and url_problem(tracing.endpoint)) and not config.server.plaintext_beyond_loopback
    )
    if in_the_open and tracing.headers_file is not None:
        words = f"would be sent to {tracing.endpoint} in plain text: use https://, or say"
        yield ("tracing", "headers_file"), f"tracing.headers_file {words} server.plaintext_beyond_loopback: true"


def _places(config: Config) -> Found:
    default, longest = config.limits.default_timeout_s, config.limits.max_timeout_s
    if default > longest:
        words = f"limits.default_timeout_s is {default:g}, more than limits.max_timeout_s, which is {longest:g}"
        yield ("limits", "default_timeout_s"), words
    if not config.artifacts.url.startswith(_STORES):
        yield ("artifacts", "url"), f"artifacts.url must begin with {', '.join(_STORES[:-1])} or {_STORES[-1]}"
    for index, root in enumerate(config.workspace_roots):
        if not PurePath(root).is_absolute():
            yield ("workspace_roots", index), f"workspace_roots[{index}] must be an absolute path, not {root}"


def _placeholders(config: Config) -> Found:
    for path, text in _templates(config):
        for name in _PLACEHOLDER.findall(text):
            if name != "state":
                yield path, f"{dotted(path)} holds {{{name}}}; the only placeholder is {{state}}"


def _templates(config: Config) -> Iterator[tuple[SettingPath, str]]:
    yield from ((("server", "listen", i), text) for i, text in enumerate(config.server.listen))
    yield from ((("server", "operator_listen", i), text) for i, text in enumerate(config.server.operator_listen))
    yield from ((("mcp", "listen", i), text) for i, text in enumerate(config.mcp.listen))
    yield from ((("extmcp", "listen", i), text) for i, text in enumerate(config.extmcp.listen))
    yield ("state", "database"), config.state.database
    yield ("audit", "dir"), config.audit.dir
    yield ("audit", "key_file"), config.audit.key_file
    yield ("artifacts", "url"), config.artifacts.url
    yield from ((("providers", i, "address"), one.address) for i, one in enumerate(config.providers))


def _parsed(config: Config, texts: tuple[str, ...]) -> Iterator[tuple[str, Address | str]]:
    return ((text, _parse(config.at_state(text))) for text in texts)


def _parse(text: str) -> Address | str:
    """The address, or what is wrong with it."""
    try:
        return parse_address(text)
    except ValueError as error:
        return str(error)
