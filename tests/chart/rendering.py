"""The chart, rendered by a real Helm."""

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "interlock"
NEWEST = "1.37"
RELEASE, NAMESPACE = "demo", "agents"
PATIENCE_S = 60.0

Manifest: TypeAlias = dict[str, Any]
Values: TypeAlias = dict[str, Any]


class RefusedError(Exception):
    """Helm refused the values; what it said is the message."""

    @property
    def sentences(self) -> list[str]:
        """The chart's own sentences."""
        return [line.removeprefix("- ") for line in str(self).splitlines() if line.startswith("- ")]


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm, the program."""

    program: Path

    def manifests(self, *values: Values | Path, chart: Path = CHART, kubernetes: str = NEWEST) -> list[Manifest]:
        """What a release would bring to a cluster. Raises `RefusedError`."""
        text = self.text(*values, chart=chart, kubernetes=kubernetes)
        return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one is not None]

    def text(self, *values: Values | Path, chart: Path = CHART, kubernetes: str = NEWEST) -> str:
        """The same, as Helm writes it."""
        with tempfile.TemporaryDirectory() as directory:
            files = list(_files(values, Path(directory)))
            given = [word for file in files for word in ("--values", str(file))]
            command = [str(self.program), "template", RELEASE, str(chart), "--namespace", NAMESPACE, *given]
            return self.run(*command[1:], "--kube-version", kubernetes)

    def run(self, *arguments: str) -> str:
        """What it prints. Raises `RefusedError` when it fails."""
        ended = subprocess.run(
            [str(self.program), *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if ended.returncode != 0:
            raise RefusedError(ended.stderr + ended.stdout)
        return ended.stdout


def _files(values: tuple[Values | Path, ...], directory: Path) -> Iterator[Path]:
    for number, one in enumerate(values):
        if isinstance(one, Path):
            yield one
        else:
            file = directory / f"{number}.yaml"
            file.write_text(yaml.safe_dump(one))
            yield file


def example(name: str) -> Path:
    """One of the chart's own values files."""
    return CHART / "ci" / f"{name}.yaml"


def examples() -> list[str]:
    """Their names."""
    return sorted(path.stem for path in (CHART / "ci").glob("*.yaml"))


def one_of(manifests: list[Manifest], kind: str, name: str = "") -> Manifest:
    """The one manifest of a kind, and of a name that ends like this."""
    found = [one for one in manifests if one["kind"] == kind and one["metadata"]["name"].endswith(name)]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def pod_specs(manifests: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Give the pods that workloads make, with the workload's name."""
    for one in manifests:
        if one["kind"] in {"Deployment", "StatefulSet"}:
            yield f"{one['kind']}/{one['metadata']['name']}", one["spec"]["template"]["spec"]


def containers_of(spec: Manifest) -> list[Manifest]:
    """All containers of a pod."""
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def gateway_config(manifests: list[Manifest]) -> Any:
    """`interlock.yaml`, read."""
    maps = [one for one in manifests if one["kind"] == "ConfigMap" and "interlock.yaml" in one["data"]]
    return yaml.safe_load(maps[0]["data"]["interlock.yaml"])


def at(manifest: Any, place: str) -> Any:
    """What stands at a place: keys with spaces between; an item of a list by its number or its name; else `None`."""
    here = manifest
    for word in place.split():
        if isinstance(here, list):
            named = [one for one in here if isinstance(one, dict) and one.get("name") == word]
            here = named[0] if named else (here[int(word)] if word.isdecimal() and int(word) < len(here) else None)
        else:
            here = here.get(word) if isinstance(here, dict) else None
    return here
