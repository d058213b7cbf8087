"""Who set a setting: what ships, the profile, or one of the operator's overlays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.policy.explain.report import SettingRead
from interlock_gateway.policy.loader import shipped_policies
from interlock_gateway.policy.settings import PolicySourceError, read_yaml

_DATA = "data.yaml"


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings that go on top of others: `place` is what to call it."""

    place: str
    settings: Any


class Origins:
    """Tells where settings come from, by reading again what policies were made of; the last layer that has it set it.

    `otherwise` is what all others are said to come from.
    """

    def __init__(self, *, profile: str, overlays: Sequence[Path] = (), otherwise: str = "shipped") -> None:
        self._otherwise = otherwise
        profiles = _read(shipped_policies() / "profiles" / _DATA)
        self._layers = [
            Layer(f"profile {profile}", _part(profiles, profile, "settings")),
            *(Layer(str(overlay / _DATA), _part(_read(overlay / _DATA), "settings")) for overlay in overlays),
        ]

    def of(self, setting: SettingRead) -> str:
        """Who set it; of a mapping, its entry that matched when one did."""
        for layer in reversed(self._layers):
            value = _part(layer.settings, *setting.name.split(".", 1))
            if value is None:
                continue
            if setting.matched is None or not isinstance(value, dict) or setting.matched in value:
                return layer.place
        return self._otherwise


def _read(path: Path) -> Any:
    try:
        return read_yaml(path, str(path)) if path.is_file() else {}
    except PolicySourceError:
        return {}  # what cannot be read set nothing; loading it has said so


def _part(node: Any, *path: str) -> Any:
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return node
