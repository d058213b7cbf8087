"""Settings in the environment: `INTERLOCK__SERVER__LISTEN` is `server.listen` (contract.md, Configuration)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from interlock_gateway.config_loader.problems import Origin, Problem, SettingPath, dotted
from interlock_gateway.config_loader.shape import Kind, Shape, config_shape, nearest
from interlock_gateway.config_loader.yaml_source import Source, read_yaml
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

PREFIX = "INTERLOCK__"
VARIABLES = "INTERLOCK_VARIABLES"
"""`secrets`: whoever starts the gateway has decided all but its secrets, and other variables are refused."""
SECRETS = re.compile(
    r"INTERLOCK__(PROVIDERS__\d+__(.+__)?(TOKEN|URL|HEADERS|ENVIRONMENT)(__.+)?|PROVIDER_CREDENTIALS__.+"
    r"|APPROVALS__WEBHOOKS__\d+__(SECRET|URL)|POLICY__OPA__TOKEN|POLICY__BUNDLE__URL)"
)
"""Settings that are secrets, or may hold one."""


@dataclass(frozen=True, slots=True)
class Override:
    """One variable: which setting it sets, and to what."""

    name: str
    path: SettingPath
    source: Source


def read_environment(environment: Mapping[str, str], problems: list[Problem]) -> list[Override]:
    """The overrides in `environment`, shorter paths first, so that a longer one changes a part of a shorter one.

    A list's entry is named by its number (`INTERLOCK__PROVIDERS__0__TOKEN`), a key of a mapping by its own name.
    What cannot be understood, or may not be set here, is added to `problems`.
    """
    _check(environment, problems)
    names = sorted((name for name in environment if name.startswith(PREFIX)), key=lambda name: (name.count("__"), name))
    found = []
    for name in names:
        path = _path(name, problems)
        if path is not None:
            source = _value(name, environment[name], config_shape().at(path))
            problems.extend(source.problems)
            if not source.problems:
                found.append(Override(name, path, source))
    return found


def _check(environment: Mapping[str, str], problems: list[Problem]) -> None:
    said = environment.get(VARIABLES, "all")
    if said not in ("all", "secrets"):
        problems.append(Problem(VARIABLES, f"has to be all or secrets, not {said}"))
    if said != "all":
        words = f"may not be set here, because {VARIABLES} is {said}: write it into the configuration file"
        names = sorted(name for name in environment if name.startswith(PREFIX) and not SECRETS.fullmatch(name))
        problems.extend(Problem(name, words) for name in names)


def apply(override: Override, tree: JsonObject, origins: dict[SettingPath, Origin]) -> str | None:
    """Put the override into `tree`, and where it came from into `origins`; a sentence when it has no place there.

    Mappings are merged key by key; lists and values are replaced.
    """
    here: JsonValue = tree
    for depth, part in enumerate(override.path[:-1]):
        origins.setdefault(override.path[: depth + 1], Origin(override.name))
        shape = config_shape().at(override.path[: depth + 1])
        empty: JsonValue = [] if shape is not None and shape.kind is Kind.LIST else {}
        here = _inside(here, part, empty)
        if here is None:
            return f"there is no {dotted(override.path[: depth + 1])} to change a part of"
    return _put(here, override, origins)


def _inside(here: JsonValue, part: str | int, empty: JsonValue) -> JsonValue:
    """What stands at `part` of `here`, made when it may be; `None` when it cannot be there."""
    if isinstance(here, list) and isinstance(part, int):
        if part == len(here):
            here.append(empty)
        return here[part] if part < len(here) else None
    if isinstance(here, dict):
        if here.get(str(part)) is None:
            here[str(part)] = empty
        return here[str(part)]
    return None


def _put(here: JsonValue, override: Override, origins: dict[SettingPath, Origin]) -> str | None:
    part, value = override.path[-1], override.source.value
    if isinstance(here, dict):
        here[str(part)] = _merged(here.get(str(part)), value)
    elif isinstance(here, list) and isinstance(part, int) and part <= len(here):
        here[part : part + 1] = [_merged(here[part] if part < len(here) else None, value)]
    else:
        return f"there is no {dotted(override.path)} to set"
    for below, origin in override.source.origins.items():
        origins[*override.path, *below] = origin
    return None


def _merged(before: JsonValue, value: JsonValue) -> JsonValue:
    if isinstance(before, dict) and isinstance(value, dict):
        return {**before, **{key: _merged(before.get(key), item) for key, item in value.items()}}
    return value


def _path(name: str, problems: list[Problem]) -> SettingPath | None:
    here: Shape | None = config_shape()
    path: SettingPath = ()
    for segment in name.removeprefix(PREFIX).split("__"):
        assert here is not None
        part = _part(segment, here)
        inner = here.step(part) if part is not None and here.kind is not Kind.VALUE else None
        if part is None or inner is None:
            problems.append(Problem(name, _unknown(segment, path, here)))
            return None
        path, here = (*path, part), inner
    return path


def _part(segment: str, shape: Shape) -> str | int | None:
    if not segment:
        return None
    if shape.kind is Kind.LIST:
        return int(segment) if segment.isascii() and segment.isdecimal() else None
    return segment.lower() if shape.kind is Kind.SECTION else segment


def _unknown(segment: str, path: SettingPath, shape: Shape) -> str:
    if not segment:
        return "names no setting; write INTERLOCK__SECTION__KEY"
    if shape.kind is Kind.VALUE:
        return f"{dotted(path)} is a single value and has no {segment.lower()}"
    if shape.kind is Kind.LIST:
        return f"{dotted(path)} is a list; name its entry by number, from 0, not {segment}"
    wrong = (*path, segment.lower())
    return f"{dotted(wrong)} is not a setting{nearest(wrong)}"


def _value(name: str, text: str, shape: Shape | None) -> Source:
    assert shape is not None
    if shape.kind is Kind.VALUE:
        return Source(text, {(): Origin(name, text)})
    if shape.kind is Kind.LIST and shape.item is not None and shape.item.kind is Kind.VALUE and not _looks_listed(text):
        entries: list[JsonValue] = [text] if text else []
        return Source(entries, dict(_entry_origins(name, text)))
    return read_yaml(text, name, is_file=False)


def _looks_listed(text: str) -> bool:
    return text.lstrip().startswith(("[", "- "))


def _entry_origins(name: str, text: str) -> Iterator[tuple[SettingPath, Origin]]:
    yield (), Origin(name)
    if text:
        yield (0,), Origin(name, text)
