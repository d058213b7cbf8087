"""``README.md`` of the chart: its values, as the comments in ``values.yaml`` describe them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "helm" / "interlock"
OPEN = frozenset({"env", "resources", "container", "behavior", "labels", "dns"})
"""Keys whose value is shown whole: what is below is Kubernetes', or the user's."""


@dataclass(frozen=True, slots=True)
class Value:
    """One key: where it is, its default, and what is said of it."""

    path: str
    default: Any
    said: str
    is_section: bool


def values_in(text: str) -> Iterator[Value]:
    """Give the keys of a values file in order, each with the comment right above it."""
    lines = text.splitlines()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    yield from _below(root, "", lines)


def _below(node: Any, above: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        path = f"{above}{key.value}"
        is_section = isinstance(value, yaml.MappingNode) and bool(value.value) and key.value not in OPEN
        is_section = is_section and not value.flow_style
        default = yaml.safe_load(yaml.serialize(value, Dumper=yaml.SafeDumper))
        yield Value(path, default, _comment_above(lines, key.start_mark.line), is_section)
        if is_section:
            yield from _below(value, f"{path}.", lines)


def _comment_above(lines: list[str], line: int) -> str:
    said: list[str] = []
    while line > 0 and (found := re.match(r"\s*# ?(.*)", lines[line - 1])):
        said.insert(0, found[1])
        line -= 1
    return " ".join(said)


def document() -> str:
    """The whole README."""
    values = list(values_in((CHART / "values.yaml").read_text(encoding="utf-8")))
    rows = "\n".join(_row(value) for value in values)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    return f"{_HEAD.format(kubernetes=chart['kubeVersion'].removesuffix('-0'), examples=_examples())}{rows}\n"


def _row(value: Value) -> str:
    default = "" if value.is_section else f"`{json.dumps(value.default, ensure_ascii=False)}`"
    return f"| `{value.path}` | {default.replace('|', '&#124;')} | {value.said.replace('|', '&#124;')} |"


def _examples() -> str:
    rows = []
    for path in sorted((CHART / "ci").glob("*.yaml")):
        first = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        rows.append(f"| [{path.name}](ci/{path.name}) | {first} |")
    return "\n".join(rows)


_HEAD = """# The chart of Interlock

<!-- Made from values.yaml by `make chart`; do not edit by hand. -->

It runs the gateway as a service of its own, or as a sidecar beside each agent.
[docs/kubernetes.md](../../docs/kubernetes.md) leads from nothing to a governed agent, and says what is closed by what.
Kubernetes {kubernetes}; nothing of it talks to the Kubernetes API.

The chart does not guess about safety: how connections are encrypted, who may call, whether receipts may be lost and
what happens while the webhook is away have to be said. Values that contradict each other are refused, all at once, with
a sentence each; keys that do not exist are refused too, down to those of Kubernetes and of `interlock.yaml`.

## Values to begin with

| file | what it is |
|---|---|
{examples}

## Values

What has no comment of its own is Kubernetes' own field of that name.

| key | default | meaning |
|---|---|---|
"""
