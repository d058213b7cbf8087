"""Finding and making the plug-ins that the configuration names; no other is even imported."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, cast

from interlock.extensions import Hook, Interceptor

from interlock_gateway.config import PluginConfig
from interlock_gateway.errors import ConfigError

HOOKS, INTERCEPTORS = "interlock.hooks", "interlock.interceptors"


def find(group: str, name: str) -> EntryPoint:
    """The entry point of that name. Raises `ConfigError` when none is installed, or several are."""
    installed = tuple(entry_points(group=group))
    # A distribution that is found in two places of the path is one.
    found = {(one.value, one.dist.name if one.dist else ""): one for one in installed if one.name == name}
    if not found:
        names = ", ".join(sorted({one.name for one in installed})) or "none"
        raise ConfigError(f"the plug-in {name} is not installed: {group} has {names}")
    if len(found) > 1:
        owners = " and ".join(sorted(f"{value} of {owner}" for value, owner in found))
        raise ConfigError(f"the plug-in {name} is installed more than once: {owners}")
    return next(iter(found.values()))


def load(group: str, name: str) -> Callable[[Mapping[str, Any]], object]:
    """What the entry point names, imported. Raises `ConfigError`."""
    entry = find(group, name)
    try:
        made = entry.load()
    except Exception as error:
        raise ConfigError(
            f"the plug-in {name} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(made):
        raise ConfigError(f"the plug-in {name} ({entry.value}) is not callable")
    return cast("Callable[[Mapping[str, Any]], object]", made)


def interceptor(config: PluginConfig) -> Interceptor:
    """The interceptor, made with its settings. Raises `ConfigError`."""
    made = _made(INTERCEPTORS, config)
    if not isinstance(made, Interceptor):
        raise ConfigError(f"the plug-in {config.name} gives a {type(made).__name__}, which is no Interceptor")
    return made


def hook(config: PluginConfig) -> Hook:
    """The hook, made with its settings. Raises `ConfigError`."""
    made = _made(HOOKS, config)
    if not isinstance(made, Hook):
        raise ConfigError(f"the plug-in {config.name} gives a {type(made).__name__}, which is no Hook")
    return made


def _made(group: str, config: PluginConfig) -> object:
    factory = load(group, config.name)
    try:
        return factory(MappingProxyType(dict(config.settings)))
    except Exception as error:  # as above
        raise ConfigError(
            f"the plug-in {config.name} does not take its settings: {type(error).__name__}: {error}"
        ) from error
