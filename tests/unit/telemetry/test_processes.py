"""What processes use, read from the kernel's files (OBS-1)."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from interlock_gateway.telemetry.processes import Processes
from prometheus_client.core import Metric

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def put(proc: Path, process_id: int, *, used_s: float, pages: int) -> None:
    """A process with a name that tries to be mistaken for figures."""
    (proc / str(process_id)).mkdir(exist_ok=True)
    ticks = int(used_s * TICKS_PER_S)
    before = " ".join("0" for _ in range(10))
    (proc / str(process_id) / "stat").write_text(f"{process_id} (a) 9 (b) R {before} {ticks} 0 0 0")
    (proc / str(process_id) / "statm").write_text(f"9999 {pages} 0 0 0 0 0")


def shown(found: Sequence[Metric], name: str) -> dict[str, float]:
    return {
        sample.labels.get("process", ""): sample.value
        for family in found
        for sample in family.samples
        if sample.name == name
    }


@pytest.mark.req("OBS-1")
def test_time_and_memory_are_summed_by_what_processes_do(tmp_path: Path) -> None:
    put(tmp_path, os.getpid(), used_s=1.5, pages=10)
    put(tmp_path, 4_000_001, used_s=2, pages=3)
    put(tmp_path, 4_000_002, used_s=1, pages=4)
    found = Processes(lambda: {"policy": (4_000_001, 4_000_002)}, tmp_path).collect()
    assert shown(found, "interlock_process_cpu_seconds_total") == {"gateway": 1.5, "policy": 3.0}
    assert shown(found, "interlock_process_resident_memory_bytes")["policy"] == 7 * PAGE_BYTES
    assert shown(found, "interlock_processes") == {"gateway": 1, "policy": 2}


@pytest.mark.req("OBS-1")
def test_time_never_goes_back_when_a_worker_is_replaced(tmp_path: Path) -> None:
    workers = (4_000_001,)
    put(tmp_path, workers[0], used_s=5, pages=1)
    processes = Processes(lambda: {"policy": workers}, tmp_path)
    assert shown(processes.collect(), "interlock_process_cpu_seconds_total")["policy"] == 5
    workers = (4_000_002,)
    put(tmp_path, workers[0], used_s=0.5, pages=1)
    assert shown(processes.collect(), "interlock_process_cpu_seconds_total")["policy"] == 5.5
    put(tmp_path, workers[0], used_s=0.25, pages=1)
    assert shown(processes.collect(), "interlock_process_cpu_seconds_total")["policy"] == 5.75


@pytest.mark.req("OBS-1")
def test_where_the_kernel_has_no_such_files_nothing_is_claimed(tmp_path: Path) -> None:
    found = Processes(lambda: {"policy": (1, 2)}, tmp_path / "nowhere").collect()
    assert shown(found, "interlock_processes") == {"gateway": 0, "policy": 0}
    assert shown(found, "interlock_process_open_fds") == {}


def test_the_real_files_are_read() -> None:
    found = Processes(dict).collect()
    if Path("/proc/self/statm").exists():
        assert shown(found, "interlock_process_resident_memory_bytes")["gateway"] > 1024 * 1024
        assert shown(found, "interlock_process_open_fds")[""] > 2
