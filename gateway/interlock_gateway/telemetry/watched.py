"""Metrics that are kept elsewhere, and read when they are scraped."""

from collections.abc import Callable
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

Read: TypeAlias = Callable[[], dict[tuple[str, ...], float]]
"""A value for each tuple of label values. Called on the thread that serves a scrape."""
Family: TypeAlias = GaugeMetricFamily | CounterMetricFamily


class Watched(Collector):
    """A gauge, or a counter, whose values are asked for at scrape time."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        read: Read,
        family: type[Family] = GaugeMetricFamily,
    ) -> None:
        self._family = family
        self._name = name
        self._text = text
        self._labels = labels
        self._read = read

    def collect(self) -> list[Family]:
        """It as it stands."""
        family = self._family(self._name, self._text, labels=self._labels)
        for values, number in self._read().items():
            family.add_metric(list(values), number)
        return [family]

    def describe(self) -> list[Family]:
        """Its name, without asking for values."""
        return [self._family(self._name, self._text, labels=self._labels)]
