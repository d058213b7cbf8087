"""benchmarks/sizing.py measures what docs/kubernetes.md derives requests from; how much that is, is for it to say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "sizing.py"
WITHIN_MIB = 256
"""What the chart asks for by default, for a gateway with 1 KB inputs."""


def test_memory_and_processor_time_are_measured_idle_and_under_load_and_memory_fits(
    tmp_path: Path, program: Any
) -> None:
    program("go")
    written = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARK), "--seconds", "1", "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    idle, *loaded = json.loads(written.read_text(encoding="utf-8"))
    assert (idle["what"], idle["answered_per_second"]) == ("idle", 0)
    assert [one["what"] for one in loaded] == ["500 reads a second", "1,000 reads a second", "changes, 64 agents"]
    assert min(one["answered_per_second"] for one in loaded) > 0
    assert min(one["processor_ms_per_call"] for one in loaded) > 0
    assert all(20 < one["memory_mib"] < WITHIN_MIB and one["processes"] > 1 for one in (idle, *loaded))
    assert all(one["what"] in done.stdout for one in (idle, *loaded))
