"""Every metric that the gateway can show, found where the code makes it, so that no document can leave one out."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = ROOT / "gateway" / "interlock_gateway"
PREFIX = "interlock_"
# What makes a metric, and what kind: those of prometheus_client, and those that are read when they are scraped.
MAKERS = {
    "Counter": "counter",
    "CounterMetricFamily": "counter",
    "watch_total": "counter",
    "Gauge": "gauge",
    "GaugeMetricFamily": "gauge",
    "watch": "gauge",
    "Histogram": "histogram",
    "Info": "info",
}
# Where in a call the text may stand, when it is a variable: the same function gives it its words.
_PLACES = {"watch": 3, "watch_total": 3}
# What an info says beside itself; it is one series, which changes.
_SAID = {"interlock_build": ("version",), "interlock_policy": ("engine", "profile", "revision")}
_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count"), "info": ("_info",)}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as the code has it. `shown` is its name in a scrape, but for what histograms add to it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    file: str

    @property
    def shown(self) -> str:
        """Its name in a scrape."""
        return self.name if self.kind == "histogram" else self.name + _SUFFIXES[self.kind][0]

    @property
    def series(self) -> tuple[str, ...]:
        """The names that samples of it have."""
        return tuple(self.name + suffix for suffix in _SUFFIXES[self.kind])


@cache
def metrics_in_code() -> tuple[Metric, ...]:
    """All of them, by name. Raises an error for one whose name, text or labels cannot be read off the code."""
    found = {metric.name: metric for path in sorted(GATEWAY.rglob("*.py")) for metric in _metrics_of(path)}
    return tuple(found[name] for name in sorted(found))


def _metrics_of(path: Path) -> Iterator[Metric]:
    source = path.read_text(encoding="utf-8")
    if f'"{PREFIX}' not in source:
        return
    tree = ast.parse(source)
    words: dict[str, object] = {}
    for name, text in (pair for node in ast.walk(tree) for pair in _assigned(node)):
        words[name] = text if words.setdefault(name, text) == text else None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := MAKERS.get(_called(node))) and _is_ours(node):
            yield _metric(node, kind, words, str(path.relative_to(ROOT)))


def _metric(call: ast.Call, kind: str, words: dict[str, object], file: str) -> Metric:
    name = ast.literal_eval(call.args[0])
    text = _value(call.args[1], words)
    if not isinstance(text, str) or not text.endswith("."):
        raise ValueError(f"{file}: {name} has no sentence that says what it is")
    labels = _SAID[name] if kind == "info" else tuple(_labels(call, words))
    return Metric(name, kind, labels, text, file)


def _labels(call: ast.Call, words: dict[str, object]) -> Iterator[str]:
    given = [word.value for word in call.keywords if word.arg in {"labels", "labelnames"}]
    if _called(call) in _PLACES:
        given += call.args[_PLACES[_called(call)] :]
    elif len(call.args) > 2:
        given.append(call.args[2])
    for one in given:
        value = _value(one, words)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | list):
            yield from value
        else:
            raise TypeError(f"the labels of {ast.unparse(call.args[0])} cannot be read off the code")


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_ours(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and str(first.value).startswith(PREFIX)


def _assigned(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Names that a constant is assigned to."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        try:
            yield node.targets[0].id, ast.literal_eval(node.value)
        except ValueError:
            return


def _value(node: ast.expr, words: dict[str, object]) -> object:
    if isinstance(node, ast.Name):
        return words.get(node.id)
    return ast.literal_eval(node)
