"""What is not safe together, or of no use, among the settings of TLS and of those who are known by certificates."""

from collections.abc import Iterator
from typing import TypeAlias

from interlock_gateway.config import Config, Front
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.spiffe import spiffe_problem
from interlock_gateway.config_server import TlsConfig

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
UNENCRYPTED = (
    "and connections are not encrypted: set server.tls, listen on loopback or a Unix socket, or say "
    "server.plaintext_beyond_loopback: true when something else encrypts them"
)
"""Why an address beyond loopback is refused without TLS, after its name."""
_HERE: SettingPath = ("server", "tls")


def tls_contradictions(config: Config) -> Found:
    """Every reason why the settings of TLS and mTLS are refused, each with the setting to change."""
    tls = config.server.tls
    listening = (*config.server.listen, *config.mcp.listen, *config.extmcp.listen)
    if tls is not None and all(address.startswith("unix:") for address in listening):
        yield _HERE, "server.tls encrypts TCP, and server.listen, mcp.listen and extmcp.listen hold Unix sockets alone"
    if tls is not None and tls.clients == "accept":
        place = (*_HERE, "clients")
        if tls.client_ca_file is None:
            yield (
                place,
                "server.tls.clients is accept, and no server.tls.client_ca_file says whose certificates",
            )
        elif config.server.front is Front.GRPCIO:
            yield place, "server.tls.clients can be accept with server.front: nghttp2 alone"
    if tls is not None and tls.crl_file is not None:
        yield from _lists(config, tls)
    if config.identity.mtls.principals and (tls is None or tls.client_ca_file is None):
        words = "needs server.tls.client_ca_file: without it no client shows a certificate"
        yield ("identity", "mtls", "principals"), f"identity.mtls.principals {words}"
    yield from _certificates(config)


def _lists(config: Config, tls: TlsConfig) -> Found:
    place = (*_HERE, "crl_file")
    if tls.client_ca_file is None:
        yield place, "server.tls.crl_file needs server.tls.client_ca_file: without it no client shows a certificate"
    elif config.server.front is Front.GRPCIO:
        yield place, "server.tls.crl_file works with server.front: nghttp2 alone: grpcio compares with no such lists"


def _certificates(config: Config) -> Found:
    for index, one in enumerate(config.identity.mtls.principals):
        path: SettingPath = ("identity", "mtls", "principals", index)
        if bool(one.spiffe) == bool(one.subject):
            yield path, f"{dotted(path)} needs exactly one of spiffe and subject"
        if one.spiffe and (problem := spiffe_problem(one.spiffe, pattern=True)):
            yield (*path, "spiffe"), f"{dotted((*path, 'spiffe'))} {problem}"
