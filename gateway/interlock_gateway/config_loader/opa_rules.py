"""What is not safe together among the settings of an OPA server, and what its address means."""

from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import Address, TcpAddress, UnixAddress, parse_address
from interlock_gateway.config_loader.problems import SettingPath, dotted

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
_HERE: SettingPath = ("policy", "opa")
_PORTS = {"http": 80, "https": 443}


def opa_address(url: str) -> tuple[Address, bool]:
    """The address in `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`, and whether it is encrypted.

    Raises `ValueError` with a sentence that lacks the setting's name.

    >>> opa_address("https://opa.example.com")
    (TcpAddress(host='opa.example.com', port=443), True)
    """
    if url.startswith("unix:"):
        return parse_address(url), False
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("must be http://HOST:PORT, https://HOST:PORT or unix:PATH")
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a name or a password; use policy.opa.token_file")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("has something after HOST:PORT, where OPA's API begins")
    host = parts.hostname
    # What a host's name cannot hold could be read in two ways by those who read the address next.
    parse_address(f"[{host}]:1" if ":" in host else f"{host}:1")
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    return TcpAddress(host, port), parts.scheme == "https"


def opa_contradictions(config: Config) -> Found:
    """Every reason why the settings of the engine `opa` are refused, each with the setting to change."""
    policy, opa = config.policy, config.policy.opa
    yield from _address(config)
    if opa.token and opa.token_file is not None:
        yield (*_HERE, "token"), "policy.opa.token and policy.opa.token_file are both given; one is enough"
    if opa.token and (not opa.token.isascii() or not opa.token.isprintable() or " " in opa.token):
        yield (*_HERE, "token"), "policy.opa.token holds a character that no bearer token has"
    if opa.client_key is not None and opa.client_cert is None:
        yield (*_HERE, "client_key"), "policy.opa.client_key is given without policy.opa.client_cert"
    if opa.breaker.retry_s > opa.breaker.longest_retry_s:
        words = f"{opa.breaker.retry_s:g}, more than policy.opa.breaker.longest_retry_s"
        yield (*_HERE, "breaker", "retry_s"), f"policy.opa.breaker.retry_s is {words}"
    if opa.accept_unchecked_policies and opa.policies == "push":
        words = "is for an OPA that loads its policies itself: what the gateway pushes it has checked"
        yield (*_HERE, "accept_unchecked_policies"), f"policy.opa.accept_unchecked_policies {words}"
    if opa.policies == "bundle":
        for name, given in (("overlays", policy.overlays), ("bundle", policy.bundle)):
            if given:
                path = ("policy", name)
                words = "decides nothing where OPA loads its policies itself: leave it out, or let the gateway push"
                yield path, f"{dotted(path)} {words}"


def _address(config: Config) -> Found:
    opa, name = config.policy.opa, "policy.opa.url"
    place = (*_HERE, "url")
    try:
        address, encrypted = opa_address(config.at_state(opa.url))
    except ValueError as error:
        yield place, f"{name} {error}"
        return
    for key in ("ca_file", "client_cert"):
        if getattr(opa, key) is not None and not encrypted:
            yield (*_HERE, key), f"policy.opa.{key} is for https://, which {name} does not begin with"
    if encrypted or isinstance(address, UnixAddress) or address.is_loopback or opa.plaintext_beyond_loopback:
        return
    yield place, f"{name} is not encrypted: use https://, or say policy.opa.plaintext_beyond_loopback: true"
