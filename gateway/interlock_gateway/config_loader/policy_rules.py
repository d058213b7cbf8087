"""What is not safe together among the settings of policies: where bundles come from and what they are signed with."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from interlock_gateway.config import Config
from interlock_gateway.config_bundles import BundleConfig, BundleKeyConfig
from interlock_gateway.config_loader.addresses import TcpAddress
from interlock_gateway.config_loader.opa_rules import opa_contradictions
from interlock_gateway.config_loader.problems import SettingPath, dotted

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
SCHEMES = frozenset({"file", "http", "https", "s3", "gs", "az"})


def policy_contradictions(config: Config) -> Found:
    """Every reason why the settings of policies are refused, each with the setting to change."""
    policy = config.policy
    if policy.bundle is not None:
        yield from _bundle(policy.bundle, ("policy", "bundle"))
    if policy.shadow.bundle is not None:
        yield from _bundle(policy.shadow.bundle, ("policy", "shadow", "bundle"))
    if policy.engine == "opa":
        yield from opa_contradictions(config)


def _bundle(bundle: BundleConfig, path: SettingPath) -> Found:
    yield from _url(bundle, path)
    names = Counter(key.id for key in bundle.keys)
    for index, key in enumerate(bundle.keys):
        place = (*path, "keys", index)
        if names[key.id] > 1:
            yield (*place, "id"), f"{dotted((*place, 'id'))} is used twice: {key.id}"
        if problem := _key_problem(key):
            yield place, f"{dotted(place)} {problem}"


def _url(bundle: BundleConfig, path: SettingPath) -> Found:
    place, name = (*path, "url"), dotted((*path, "url"))
    try:
        parts = urlsplit(bundle.url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        yield place, f"{name} is no address: {error}"
        return
    if parts.scheme and parts.scheme not in SCHEMES:
        yield place, f"{name} begins with {parts.scheme}:, which is none of {', '.join(sorted(SCHEMES))}"
    if parts.username is not None or parts.password is not None:
        yield place, f"{name} holds a name or a password; use token_file"
    if parts.scheme in {"http", "https"} and not host:
        yield place, f"{name} names no host"
    if parts.scheme == "http" and not bundle.plaintext and not TcpAddress(host, 0).is_loopback:
        yield place, f"{name} is not encrypted: use https://, or say {dotted((*path, 'plaintext'))}: true"
    if bundle.token_file is not None and parts.scheme not in {"http", "https"}:
        yield (*path, "token_file"), f"{dotted((*path, 'token_file'))} is for servers; {name} names none"


def _key_problem(key: BundleKeyConfig) -> str:
    is_secret = key.algorithm.startswith("HS")
    if is_secret and (key.secret_file is None or key.file is not None):
        return f"uses {key.algorithm}, which takes a secret: name it with secret_file, and no file"
    if not is_secret and (key.file is None or key.secret_file is not None):
        return f"uses {key.algorithm}, which takes a public key: name it with file, and no secret_file"
    return ""
