"""`make bench` measures calls, and gives every figure that it promises; how fast they are is for it to say."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def measured_by(script: Path, directory: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """What a benchmark writes as JSON, and what it prints, measured for no longer than it takes to see that it does."""
    written = directory / "figures.json"
    command = [sys.executable, str(script), "--rounds", "1", "--seconds", "0.1", "--json", str(written), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(written.read_text(encoding="utf-8")), done.stdout


@pytest.mark.req("PERF-1", "PERF-2", "PERF-6")
def test_calls_are_measured_direct_through_a_bare_proxy_and_through_the_gateway(tmp_path: Path, program: Any) -> None:
    program("go")
    report, printed = measured_by(BENCHMARKS, tmp_path, "--calls-only")
    measured = {(one["what"], one["input_bytes"], one["concurrency"]) for one in report["figures"]}
    targets = ("direct", "bare proxy", "gateway, read-only", "gateway, journaled")
    assert measured == {(what, size, at_once) for what in targets for size in (1000, 32000) for at_once in (1, 16)}
    assert min(one["calls_per_second"] for one in report["figures"]) > 0
    assert all(0 < one["p50_ms"] <= one["p99_ms"] for one in report["figures"])
    assert report["machine"]["python"]
    assert report["start_s"] > 0
    assert report["idle_resident_mib"] > 0
    assert all(word in printed for word in ("of proxy", "to direct", "wanted:"))


@pytest.mark.req("PERF-1", "PERF-2", "PERF-6")
@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, ""),
        ({"p50_ms": 1.0}, "read-only call, 1 KB, one at a time, added at p50"),
        ({"p99_ms": 2.0}, "read-only call, 1 KB, one at a time, added at p99"),
        ({"calls_per_second": 999.0}, "read-only call, 1 KB, 16 at once, of the bare proxy's throughput"),
        ({"start_s": 1.6}, "ready, with an existing state directory"),
        ({"idle_resident_mib": 151.0}, "resident memory, idle, all processes"),
    ],
)
def test_a_figure_beyond_its_bound_is_said_to_be_missed(
    changed: dict[str, float], missed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bounds = importlib.import_module("bounds")
    hop = {"what": "bare proxy", "input_bytes": 1000, "p50_ms": 0.4, "p99_ms": 0.7, "calls_per_second": 2000.0}
    ours = {**hop, "what": "gateway, read-only", "p50_ms": 0.9, "p99_ms": 1.8, "calls_per_second": 1000.0, **changed}
    rows = [{**one, "concurrency": at_once} for one in (hop, ours) for at_once in (1, 16)]
    found = list(bounds.bounds_of({"start_s": 1.5, "idle_resident_mib": 150.0, **changed, "figures": rows}))
    assert [one.what for one in found if not one.holds] == [missed] * bool(missed)
    assert ("MISSED" in bounds.shown(found)) == bool(missed)


@pytest.mark.req("PERF-3")
def test_mcp_calls_are_measured_direct_and_through_the_gateway(tmp_path: Path, program: Any) -> None:
    program("go")
    report, printed = measured_by(BENCHMARKS / "mcp_calls.py", tmp_path, "--without-fastmcp")
    measured = {(one["what"], one["revision"], one["connections"]) for one in report["figures"]}
    revisions = ("2025-11-25", "2026-07-28")
    assert measured == {(what, by, at) for what in ("direct", "gateway") for by in revisions for at in (1, 4)}
    assert min(one["calls_per_second"] for one in report["figures"]) > 0
    assert "of direct" in printed
