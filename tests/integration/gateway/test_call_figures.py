"""`make bench` measures calls, and gives every figure that it promises; how fast they are is for it to say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.req("PERF-1", "PERF-2", "PERF-6")
def test_calls_are_measured_direct_through_a_bare_proxy_and_through_the_gateway(tmp_path: Path, program: Any) -> None:
    program("go")
    command = [sys.executable, str(BENCHMARKS), "--rounds", "1", "--seconds", "0.1", "--calls-only"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "figures.json")], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    measured = {(one["what"], one["input_bytes"], one["concurrency"]) for one in report["figures"]}
    targets = ("direct", "bare proxy", "gateway, read-only", "gateway, journaled")
    assert measured == {(what, size, at_once) for what in targets for size in (1000, 32000) for at_once in (1, 16)}
    assert min(one["calls_per_second"] for one in report["figures"]) > 0
    assert all(0 < one["p50_ms"] <= one["p99_ms"] for one in report["figures"])
    assert report["machine"]["python"]
    assert report["start_s"] > 0
    assert report["idle_resident_mib"] > 0
    assert "of proxy" in done.stdout
