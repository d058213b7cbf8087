"""docs/operations.md, made from the code: `python tests/observability/operations_document.py` writes it anew."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "house")]

from alert_rules import alerts  # noqa: E402 - found through the path above
from interlock_gateway.config_loader.shape import Kind, Shape, config_shape  # noqa: E402 - as above
from label_bounds import BOUNDS, OF_METRIC, bound_of  # noqa: E402 - as above
from log_events import log_events  # noqa: E402 - as above
from log_meanings import ABOUT_THE_CALL, FIELDS  # noqa: E402 - as above
from metrics_in_code import Metric, metrics_in_code  # noqa: E402 - as above

DOCUMENT = HERE.parents[1] / "docs" / "operations.md"
INTRODUCTION = """\
# Operations: what there is to see and to set

<!-- Made from the code by `python tests/observability/operations_document.py`; do not edit by hand. -->

Every metric, alert, log event and configuration key. How they are used is in [observability.md](observability.md); what
to do when an alert fires, in [runbooks.md](runbooks.md).
"""
METRICS = """\
## Metrics

Served as text on `/metrics` at `metrics.listen`. A counter's name ends in `_total`, a histogram has `_bucket`, `_sum`
and `_count`. Counters and gauges that alerts look at are there from the start, at zero. The injection webhook
(`interlock webhook`) shows those that begin with `interlock_injection_` and no others.
"""
LABELS = """\
## Labels

What bounds the values of each label, whoever calls. `0` stands for what an operator configures.
"""
ALERTS = """\
## Alerts

In [alerts.yaml](../helm/interlock/files/alerts.yaml), with a runbook each.
"""
EVENTS = """\
## Log events

One JSON line each on standard error, with `time`, `level`, `logger` and `message`, a constant sentence. No line holds
an argument or a result.
"""
KEYS = """\
## Configuration keys

[configuration.md](configuration.md) has types, limits and defaults.
"""


def document() -> str:
    """The document, as it is committed."""
    parts = (
        INTRODUCTION,
        METRICS,
        *_metrics(),
        LABELS,
        *_labels(),
        ALERTS,
        *_alerts(),
        EVENTS,
        *_events(),
        KEYS,
        *_keys(),
    )
    return "\n".join(parts).rstrip("\n") + "\n"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    heads = tuple(heads)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _metrics() -> Iterator[str]:
    rows = ((f"`{one.shown}`", one.kind, _named(one.labels), one.text, _most(one)) for one in metrics_in_code())
    yield from _table(("metric", "type", "labels", "meaning", "series at most"), rows)


def _most(metric: Metric) -> str:
    """How many series a metric has at most, in one gateway: each child of a histogram is several."""
    most = 1
    for label in metric.labels:
        most *= bound_of(metric, label).most or 1
    configured = [label for label in metric.labels if not bound_of(metric, label).most]
    words = f"{most:,}" if metric.kind != "histogram" else f"{most:,} histograms"
    return f"{words} for each {' and '.join(configured)}" if configured else words


def _labels() -> Iterator[str]:
    rows = [(f"`{label}`", "all others", f"{bound.most:,}", bound.values) for label, bound in BOUNDS.items()]
    rows += [
        (f"`{label}`", f"`{metric}`", f"{bound.most:,}", bound.values) for (metric, label), bound in OF_METRIC.items()
    ]
    yield from _table(("label", "of", "most", "values"), sorted(rows))


def _alerts() -> Iterator[str]:
    rows = (
        (
            f"[{one.name}](runbooks.md#{one.name.lower()})",
            one.severity,
            one.waits or "at once",
            one.annotations["description"],
        )
        for one in alerts()
    )
    yield from _table(("alert", "severity", "after", "says"), rows)


def _events() -> Iterator[str]:
    rows = ((one.level, one.message, f"`{one.logger}`", _named(one.fields), one.meaning) for one in log_events())
    yield from _table(("level", "message", "logger", "fields", "meaning"), rows)
    yield "Fields:"
    yield ""
    yield from _table(("field", "holds"), ((f"`{name}`", holds) for name, holds in FIELDS.items()))
    yield f"While a call is under way every line has {_named(ABOUT_THE_CALL)} besides."
    yield ""


def _keys() -> Iterator[str]:
    yield from _table(("key", "meaning"), ((f"`{name}`", meaning) for name, meaning in settings_in("", config_shape())))


def settings_in(above: str, shape: Shape) -> Iterator[tuple[str, str]]:
    """Every key below `above`, in full, with what it means."""
    for name, inner in shape.fields.items():
        key = f"{above}{name}"
        target = inner.item if inner.kind in {Kind.LIST, Kind.MAP} and inner.item is not None else inner
        if inner.kind is not Kind.SECTION:
            yield key, shape.infos[name].description or ""
        if target.kind is Kind.SECTION:
            yield from settings_in(key + _SUFFIX[inner.kind], target)


_SUFFIX = {Kind.SECTION: ".", Kind.LIST: "[].", Kind.MAP: ".NAME.", Kind.VALUE: "."}


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
