"""The benchmarks of policy run, and give every figure they promise; how fast, is for `make bench` to say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def figures(script: str, *arguments: str) -> list[dict[str, Any]]:
    """What a benchmark prints: a line of JSON for each figure."""
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.req("PERF-4")
def test_a_decision_is_measured_with_growing_rules_settings_and_inputs() -> None:
    found = {one["what"]: one["p50_us"] for one in figures("decisions.py", "--rounds", "16")}
    assert found.keys() >= {
        "input of 1 KB",
        "input of 1000 KB",
        "input of 1 KB, 10,000 more settings entries",
        "input of 1 KB, 1,000 more rules of an operator",
        "input of 1 KB, through a worker process and back",
    }
    assert min(found.values()) > 0


@pytest.mark.req("PERF-7")
def test_replays_are_measured_for_each_second_and_core() -> None:
    found = figures("replay.py", "--decisions", "200")
    assert [one["what"] for one in found] == ["a plain call of 1 KB", *["the calls of a day"] * 2]
    assert found[0]["processes"] == 1
    assert min(one["per_processor_second"] for one in found) > 0
