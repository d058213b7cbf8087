"""What a panel of the dashboard is, and how its queries are put together."""

from dataclasses import dataclass, field

# Which gateways are looked at. A label that a Prometheus does not have matches `.*` too.
GATEWAYS = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
RATE = "[$__rate_interval]"
RANGE = "[$__range]"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel, in PromQL, and how its lines are called: `{{label}}` stands for a label's value."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `kind` is Grafana's; `unit` too (`ops`, `s`, `bytes`, `short`, `percentunit`); `width` of 24.

    `stacked` lays lines on each other.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 8
    stacked: bool = False

    @property
    def instant(self) -> bool:
        """Whether it shows one moment and not a time."""
        return self.kind != "timeseries"


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...] = field(default=())


def of(metric: str, more: str = "") -> str:
    """A metric of the chosen gateways; `more` is more that its labels have to be."""
    return f"{metric}{{{GATEWAYS}{', ' if more else ''}{more}}}"


def rate(metric: str, by: str = "", more: str = "") -> str:
    """How fast a counter grows, summed by labels, or over all."""
    return _summed(f"rate({of(metric, more)}{RATE})", by)


def grown(metric: str, by: str = "", more: str = "") -> str:
    """How much a counter grew in the time shown, summed by labels, or over all."""
    return _summed(f"increase({of(metric, more)}{RANGE})", by)


def some_of_all(metric: str, some: str, together: str) -> tuple[Query, ...]:
    """Of how many gateways something is so, and how many there are; the metric is 1 or 0."""
    return Query(f"sum({of(metric)})", some), Query(f"count({of(metric)})", together)


def quantile(share: float, metric: str, by: str = "") -> str:
    """A quantile of a histogram, over all gateways or by a label."""
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({of(f'{metric}_bucket')}{RATE})))"


def quantiles(metric: str) -> tuple[Query, ...]:
    """The three that are looked at."""
    return tuple(Query(quantile(share, metric), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))


def _summed(expression: str, by: str) -> str:
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"
