"""Who set a setting: what ships, the profile, or one of the operator's overlays, with its line there."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from interlock_gateway.policy.direction_files import read_directions
from interlock_gateway.policy.directions import Directions, Free
from interlock_gateway.policy.explain.report import SettingRead
from interlock_gateway.policy.loader import shipped_policies
from interlock_gateway.policy.settings import PolicySourceError, read_yaml
from interlock_gateway.policy.yaml_lines import YamlLines, yaml_lines

_DATA = "data.yaml"
SHIPPED = "shipped"
"""What settings are said to come from that nobody has changed."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings that go on top of others: `place` is what to call it, `lines` where it has each of them."""

    place: str
    settings: Any
    lines: YamlLines | None = None


class Origins:
    """Tells where settings come from, by reading again what policies were made of; the last layer that has it set it.

    `otherwise` is what all others are said to come from.
    """

    def __init__(self, *, profile: str, overlays: Sequence[Path] = (), otherwise: str = SHIPPED) -> None:
        self._otherwise = otherwise
        profiles = _read(shipped_policies() / "profiles" / _DATA)
        self._layers = [
            Layer(f"profile {profile}", _part(profiles, profile, "settings")),
            *(_layer(overlay / _DATA) for overlay in overlays),
        ]

    @property
    def directory(self) -> str:
        """Where what ships lies; empty when policies come from elsewhere."""
        return str(shipped_policies()) if self._otherwise == SHIPPED else ""

    def of(self, setting: SettingRead) -> str:
        """Who set it; of a mapping, its entry that matched when one did."""
        layer, _ = self._found(setting)
        return layer.place if layer is not None else self._otherwise

    def place(self, setting: SettingRead) -> str:
        """The same, with the line in an overlay."""
        layer, path = self._found(setting)
        if layer is None:
            return self._otherwise
        return layer.lines.at("settings", *path) if layer.lines is not None else layer.place

    def is_of_an_overlay(self, setting: SettingRead) -> bool:
        """Whether one of the operator's overlays set it."""
        layer, _ = self._found(setting)
        return layer is not None and layer.lines is not None

    def free(self, setting: SettingRead) -> str | None:
        """Why an overlay may change it in any way; `None` when it may not."""
        concern, _, name = setting.name.partition(".")
        direction = self._directions.get(concern, {}).get(name)
        return direction.reason if isinstance(direction, Free) else None

    @cached_property
    def _directions(self) -> Directions:
        return read_directions(shipped_policies())

    def _found(self, setting: SettingRead) -> tuple[Layer | None, tuple[str, ...]]:
        name = tuple(setting.name.split(".", 1))
        path = (*name, *setting.path) if setting.path else (*name, *([setting.matched] if setting.matched else ()))
        for layer in reversed(self._layers):
            if _part(layer.settings, *name) is None:
                continue
            if _part(layer.settings, *path) is not None:
                return layer, path
            if not isinstance(_part(layer.settings, *name), dict):
                return layer, name
        return None, name


def _layer(file: Path) -> Layer:
    try:
        lines = yaml_lines(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError):
        lines = YamlLines(str(file))  # what cannot be read set nothing; loading it has said so
    return Layer(str(file), _part(_read(file), "settings"), lines)


def _read(path: Path) -> Any:
    try:
        return read_yaml(path, str(path)) if path.is_file() else {}
    except PolicySourceError:
        return {}  # what cannot be read set nothing; loading it has said so


def _part(node: Any, *path: str) -> Any:
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return node
