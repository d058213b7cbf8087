"""What is not safe together among the settings of providers: secrets in plain text, certificates that nobody sees."""

from collections.abc import Iterator
from typing import TypeAlias

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import UnixAddress, parse_address
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.spiffe import spiffe_problem
from interlock_gateway.config_providers import ProviderConfig, ProviderTlsConfig

Found: TypeAlias = Iterator[tuple[SettingPath, str]]


def provider_contradictions(config: Config) -> Found:
    """Every reason why the settings of providers are refused, each with the setting to change."""
    for index, provider in enumerate(config.providers):
        path: SettingPath = ("providers", index)
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


def _address(config: Config, provider: ProviderConfig, path: SettingPath) -> Found:
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
