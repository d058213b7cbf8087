"""What is not safe together among the settings of providers: secrets in plain text, certificates that nobody sees."""

import re
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.spiffe import spiffe_problem
from interlock_gateway.config_providers import McpUpstreamConfig, ProviderConfig, ProviderTlsConfig

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,16384}")
_OURS = frozenset(
    {"host", "content-length", "content-type", "accept", "transfer-encoding", "connection", "mcp-session-id"}
    | {"mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"}
)
"""Headers that every request has by itself."""


def provider_contradictions(config: Config) -> Found:
    """Every reason why the settings of providers are refused, each with the setting to change."""
    for index, provider in enumerate(config.providers):
        path: SettingPath = ("providers", index)
        if provider.mcp is not None:
            yield from _mcp(provider, provider.mcp, path)
        else:
            yield from _address(config, provider, path)
        if provider.tls is not None:
            yield from _certificate(provider.tls, (*path, "tls"))
    for name, credentials in config.provider_credentials.items():
        if credentials.tls is not None:
            yield from _certificate(credentials.tls, ("provider_credentials", name, "tls"))


def stays_here(address: str) -> bool:
    """Whether what is sent to `address` cannot leave this machine. Raises `ValueError` when it is no address."""
    parsed = parse_address(address)
    return isinstance(parsed, UnixAddress) or parsed.is_loopback


def _mcp(provider: ProviderConfig, server: McpUpstreamConfig, path: SettingPath) -> Found:
    at = (*path, "mcp")
    for setting in ("address", "token"):
        if getattr(provider, setting):
            yield (*path, setting), f"{dotted((*path, setting))} is of providers that speak gRPC; this one has mcp"
    if bool(server.url) == bool(server.command):
        yield at, f"{dotted(at)} needs either url or command"
        return
    if server.command:
        yield from _command(server, provider, path)
        return
    if server.environment or server.working_directory:
        yield at, f"{dotted(at)} has a url; environment and working_directory are a command's"
    if problem := mcp_url_problem(server.url):
        yield (*at, "url"), f"{dotted((*at, 'url'))} {problem}"
        return
    yield from _sent_to(server, provider, path)


def _sent_to(server: McpUpstreamConfig, provider: ProviderConfig, path: SettingPath) -> Found:
    at = (*path, "mcp")
    is_plain = server.url.startswith("http:")
    if provider.tls is not None and is_plain:
        yield (*path, "tls"), f"{dotted((*path, 'tls'))} encrypts https://, and the server's url is http://"
    if is_plain and server.headers and not provider.plaintext_beyond_loopback and not is_local_url(server.url):
        words = "would be sent in plain text: use https://, or say plaintext_beyond_loopback: true"
        yield (*at, "headers"), f"{dotted((*at, 'headers'))} {words}"
    for name, value in server.headers.items():
        if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value) or name.lower() in _OURS:
            yield (*at, "headers"), f"{dotted((*at, 'headers'))} cannot hold {name}"


def _command(server: McpUpstreamConfig, provider: ProviderConfig, path: SettingPath) -> Found:
    at = (*path, "mcp")
    if server.headers or provider.tls is not None:
        yield at, f"{dotted(at)} has a command; headers and tls are a url's"
    if not server.command[0] or any("\0" in one for one in (*server.command, *server.environment.values())):
        yield (*at, "command"), f"{dotted((*at, 'command'))} cannot be run"
    for name in server.environment:
        if not name or "=" in name or "\0" in name:
            yield (*at, "environment"), f"{dotted((*at, 'environment'))} cannot hold {name}"


def mcp_url_problem(url: str) -> str | None:
    """Why `url` cannot be an MCP server's, as the rest of a sentence that names it."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must be an http:// or https:// URL"
    if parts.username is not None or parts.password is not None:
        return "holds a name or a password; use headers"
    return "has a fragment, which is never sent" if parts.fragment else None


def is_local_url(url: str) -> bool:
    """Whether what is sent to `url` cannot leave this machine."""
    host = urlsplit(url).hostname or ""
    return TcpAddress(host, 0).is_loopback


def _address(config: Config, provider: ProviderConfig, path: SettingPath) -> Found:
    if not provider.address:
        yield (*path, "address"), f"{dotted((*path, 'address'))} is required, or mcp in its place"
        return
    address = config.at_state(provider.address)
    try:
        parsed = parse_address(address)
    except ValueError as error:
        yield (*path, "address"), f"{dotted((*path, 'address'))} {error}"
        return
    if provider.tls is not None:
        if isinstance(parsed, UnixAddress):
            yield (*path, "tls"), f"{dotted((*path, 'tls'))} encrypts TCP, and the provider's address is a Unix socket"
    elif provider.token and not provider.plaintext_beyond_loopback and not stays_here(address):
        words = f"would be sent to {address} in plain text: set tls, or say plaintext_beyond_loopback: true"
        yield (*path, "token"), f"{dotted((*path, 'token'))} {words}"


def _certificate(tls: ProviderTlsConfig, path: SettingPath) -> Found:
    place = (*path, "spiffe_id")
    if tls.spiffe_id and (problem := spiffe_problem(tls.spiffe_id)):
        yield place, f"{dotted(place)} {problem}"
    if tls.spiffe_id and tls.server_name:
        yield place, f"{dotted(place)} and {dotted((*path, 'server_name'))} are both given; one says who it is"
    if tls.key_file is not None and tls.cert_file is None:
        yield (*path, "key_file"), f"{dotted((*path, 'key_file'))} is given without {dotted((*path, 'cert_file'))}"
