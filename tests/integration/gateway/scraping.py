"""Metrics as Prometheus gets them: text over HTTP."""

import asyncio
import re
import urllib.request

from gateway_bench import Bench

_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scraped(at: Bench) -> str:
    """What `/metrics` says now."""

    def read() -> str:
        with urllib.request.urlopen(f"http://{at.gateway.endpoints.metrics}/metrics", timeout=30) as answer:
            text: bytes = answer.read()
        return text.decode()

    return await asyncio.to_thread(read)


def samples_in(text: str) -> Samples:
    """Every sample by name and labels."""
    found = (_SAMPLE.match(line) for line in text.splitlines() if not line.startswith("#"))
    return {
        (sample["name"], frozenset(_LABEL.findall(sample["labels"] or ""))): float(sample["value"])
        for sample in found
        if sample is not None
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples of that name which have these labels."""
    wanted = set(labels.items())
    return sum(number for (found, having), number in samples.items() if found == name and wanted <= having)
