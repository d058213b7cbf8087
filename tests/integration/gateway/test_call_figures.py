"""`make bench` measures calls, and gives every figure that it promises; how fast they are is for it to say."""

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
    assert "of proxy" in printed


@pytest.mark.req("PERF-3")
def test_mcp_calls_are_measured_direct_and_through_the_gateway(tmp_path: Path, program: Any) -> None:
    program("go")
    report, printed = measured_by(BENCHMARKS / "mcp_calls.py", tmp_path, "--without-fastmcp")
    measured = {(one["what"], one["revision"], one["connections"]) for one in report["figures"]}
    revisions = ("2025-11-25", "2026-07-28")
    assert measured == {(what, by, at) for what in ("direct", "gateway") for by in revisions for at in (1, 4)}
    assert min(one["calls_per_second"] for one in report["figures"]) > 0
    assert "of direct" in printed
