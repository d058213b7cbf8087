"""Plug-ins that a test wrote, found as if they were installed."""

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from interlock_gateway.config import ExtensionsConfig, HookConfig, InterceptorConfig

Factory = Callable[[Mapping[str, Any]], object]


class Installer:
    """Puts distributions with entry points onto the path, for one test."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self._monkeypatch = monkeypatch
        self._count = 0
        monkeypatch.syspath_prepend(str(directory))

    def install(self, group: str, name: str, factory: object, distribution: str = "") -> None:
        """Offer `factory` as the entry point `name`."""
        self._count += 1
        module = ModuleType(f"plugged_{self._count}")
        module.factory = factory  # type: ignore[attr-defined]  # made here
        self._monkeypatch.setitem(sys.modules, module.__name__, module)
        self.write(group, name, f"{module.__name__}:factory", distribution)

    def write(self, group: str, name: str, value: str, distribution: str = "") -> None:
        """Offer what `value` names."""
        self._count += 1
        project = distribution or f"plugged-{self._count}"
        info = self.directory / f"{project.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[interlock.{group}]\n{name} = {value}\n")
        assert Distribution.at(info).entry_points

    def interceptors(self, *factories: Factory, **config: Any) -> ExtensionsConfig:
        """Install interceptors, and a configuration that names them in this order."""
        names = [f"i{number}" for number in range(len(factories))]
        for name, factory in zip(names, factories, strict=True):
            self.install("interceptors", name, factory)
        return ExtensionsConfig(interceptors=tuple(InterceptorConfig(name=name, **config) for name in names))

    def hooks(self, *factories: Factory, **config: Any) -> ExtensionsConfig:
        """The same for hooks."""
        names = [f"h{number}" for number in range(len(factories))]
        for name, factory in zip(names, factories, strict=True):
            self.install("hooks", name, factory)
        return ExtensionsConfig(hooks=tuple(HookConfig(name=name, **config) for name in names))
