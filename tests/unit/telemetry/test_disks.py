"""Disks: how full they are, and a scrape that no disk keeps waiting (OBS-1)."""

import os
import threading
from pathlib import Path

import pytest
from interlock_gateway.telemetry.disks import Disks, Space, space_at
from prometheus_client import CollectorRegistry
from waiting import eventually_blocking

GIB = 1 << 30


def shown(disks: Disks) -> dict[tuple[str, str], float]:
    """Every sample by its name and directory."""
    families = disks.collect()
    return {
        (sample.name, sample.labels.get("directory", "")): sample.value
        for family in families
        for sample in family.samples
    }


def looking() -> int:
    return sum(thread.name == "disk-slow" for thread in threading.enumerate())


@pytest.mark.req("OBS-1")
def test_free_and_used_bytes_are_those_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "receipts-00000000000000000001.jsonl").write_bytes(b"x" * 700)
    (tmp_path / "receipts-00000000000000000007.jsonl").write_bytes(b"x" * 77)
    (tmp_path / "head.json").write_bytes(b"{}")

    found = shown(Disks({"state": tmp_path, "audit": tmp_path}))

    system = os.statvfs(tmp_path)
    whole = system.f_blocks * system.f_frsize
    for directory in ("state", "audit"):
        free, used = (found[f"interlock_disk_{what}_bytes", directory] for what in ("free", "used"))
        assert 0 < free + used <= whole
    assert found["interlock_audit_stored_bytes", ""] == 777


@pytest.mark.req("OBS-1")
def test_inodes_are_shown_where_the_file_system_counts_them(tmp_path: Path) -> None:
    spaces = {"state": Space(GIB, GIB, free_inodes=0, used_inodes=7), "other": Space(GIB, GIB)}
    found = shown(Disks({name: tmp_path / name for name in spaces}, space=lambda directory: spaces[directory.name]))
    inodes = {key: value for key, value in found.items() if key[0].endswith("_inodes")}
    assert inodes == {("interlock_disk_free_inodes", "state"): 0, ("interlock_disk_used_inodes", "state"): 7}

    system, here = os.statvfs(tmp_path), space_at(tmp_path)
    assert 0 <= here.free_inodes <= system.f_files
    assert here.free_inodes + here.used_inodes <= system.f_files


@pytest.mark.req("OBS-1")
def test_a_directory_that_is_gone_has_no_figures(tmp_path: Path) -> None:
    found = shown(Disks({"state": tmp_path, "audit": tmp_path / "gone"}))
    assert {directory for _, directory in found} == {"state"}


@pytest.mark.req("OBS-1")
def test_of_a_disk_that_hangs_one_look_waits_and_no_scrape(tmp_path: Path) -> None:
    freed = threading.Event()

    def space(directory: Path) -> Space:
        if directory.name == "hangs":
            freed.wait()
        return Space(GIB, 3 * GIB)

    disks = Disks({"state": tmp_path, "slow": tmp_path / "hangs"}, space=space, patience_s=0.05)
    for _ in range(5):
        assert {directory for _, directory in shown(disks)} == {"state"}
    assert looking() == 1
    freed.set()
    eventually_blocking(lambda: ("interlock_disk_free_bytes", "slow") in shown(disks))


@pytest.mark.req("OBS-1")
def test_to_register_them_asks_no_disk(tmp_path: Path) -> None:
    def space(_directory: Path) -> Space:
        raise AssertionError("a disk was asked")

    CollectorRegistry().register(Disks({"state": tmp_path}, space=space))
    assert space_at(tmp_path).free > 0
