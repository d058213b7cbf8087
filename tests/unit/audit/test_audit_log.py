import asyncio
import errno
import json
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audit_logs import ManualClock, kinds, open_log
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.audit.masking import RawJson
from interlock_gateway.audit.read import read_last, read_records
from interlock_gateway.audit.segments import list_segments
from interlock_gateway.audit.verify import LogEnd, verify
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.errors import AuditUnavailableError
from waiting import eventually


@pytest.fixture
async def log(directory: Path, key: SigningKey, clock: ManualClock) -> AuditLog:
    return open_log(directory, key, clock)


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow past `size` bytes: the kernel itself refuses the write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def numbers(directory: Path) -> list[object]:
    return [record.record["n"] for record in read_records(directory) if "n" in record.record]


@pytest.mark.req("AUD-2", "PIPE-12")
async def test_a_committed_record_is_on_disk_when_commit_returns(log: AuditLog, directory: Path) -> None:
    await log.commit({"kind": "intent", "n": 1})
    assert numbers(directory) == [1]
    assert log.head.sequence == 2
    log.close()


async def test_it_says_when_its_writer_is_at_work(log: AuditLog) -> None:
    seen: list[bool] = []

    def record() -> dict[str, JsonValue | RawJson]:
        seen.append(log.is_working)
        return {"kind": "receipt", "n": 1}

    log.submit(record)
    await eventually(lambda: log.backlog == 0 and log.stats.written >= 1)
    log.submit(record)
    await log.commit({"kind": "intent", "n": 2})
    assert seen == [True, True]
    await eventually(lambda: not log.is_working)
    log.close()


@pytest.mark.req("AUD-2")
async def test_many_commits_at_once_share_few_writes(log: AuditLog, directory: Path) -> None:
    await asyncio.gather(*(log.commit({"kind": "intent", "n": n}) for n in range(500)))
    assert sorted(map(str, numbers(directory))) == sorted(map(str, range(500)))
    assert log.stats.groups <= 50
    log.close()


@pytest.mark.req("PIPE-12")
async def test_a_submitted_record_is_written_without_anybody_waiting(log: AuditLog, directory: Path) -> None:
    assert AuditLimits().group_s <= 0.1
    log.submit({"kind": "receipt", "n": 1})
    await eventually(lambda: numbers(directory) == [1])
    log.close()


async def test_records_are_written_in_the_order_they_came(log: AuditLog, directory: Path) -> None:
    for n in range(300):
        log.submit({"kind": "receipt", "n": n})
    await log.commit({"kind": "receipt", "n": 300})
    assert numbers(directory) == list(range(301))
    log.close()


@pytest.mark.req("AUD-2", "REL-1")
async def test_a_full_disk_refuses_everything_and_heals_by_itself(
    log: AuditLog, directory: Path, key: SigningKey
) -> None:
    await log.commit({"kind": "intent", "n": 0})
    with full_disk(list_segments(directory)[0].path.stat().st_size + 100):
        with pytest.raises(AuditUnavailableError):
            await log.commit({"kind": "intent", "n": 1})
        assert not log.healthy
        with pytest.raises(AuditUnavailableError):
            log.submit({"kind": "receipt", "n": 2})
        assert log.offer({"kind": "receipt", "n": 3, "verdict": "deny"})
        with pytest.raises(AuditUnavailableError):
            await log.commit({"kind": "intent", "n": 4})
    await eventually(lambda: log.healthy)
    await log.commit({"kind": "intent", "n": 5})
    log.close()
    assert numbers(directory) == [0, 3, 5]
    assert "outage" in kinds(directory)
    assert log.stats.failed_groups >= 2
    assert verify(directory, key.public.pem()).ok


@pytest.mark.req("OBS-1")
async def test_the_lag_is_the_age_of_what_waits_and_nothing_when_all_is_on_disk(
    log: AuditLog, directory: Path, clock: ManualClock
) -> None:
    await log.commit({"kind": "intent", "n": 0})
    await eventually(lambda: log.lag_s == 0)
    with full_disk(list_segments(directory)[0].path.stat().st_size):
        assert log.offer({"kind": "receipt", "n": 1, "verdict": "deny"})
        await eventually(lambda: not log.healthy)
        clock.time += 7
        assert log.lag_s == 7
    await eventually(lambda: log.healthy and log.lag_s == 0)
    log.close()


@pytest.mark.req("AUD-2", "REL-1")
async def test_it_heals_with_nothing_at_all_to_write(log: AuditLog, directory: Path) -> None:
    await log.commit({"kind": "intent", "n": 0})
    with full_disk(list_segments(directory)[0].path.stat().st_size), pytest.raises(AuditUnavailableError):
        await log.commit({"kind": "intent", "n": 1})
    await eventually(lambda: log.healthy)
    log.close()
    assert kinds(directory) == ["segment", "intent", "outage", "closed"]


@pytest.mark.req("AUD-2", "REL-1")
async def test_receipts_caught_in_a_failing_write_are_kept_and_written_once(
    log: AuditLog, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = threading.Event()
    fails.set()
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        if fails.is_set():
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    log.submit({"kind": "receipt", "n": 1})
    log.submit({"kind": "receipt", "n": 2})
    await eventually(lambda: not log.healthy)
    assert numbers(directory) == []
    fails.clear()
    await eventually(lambda: log.healthy)
    log.close()
    assert numbers(directory) == [1, 2]
    assert log.stats.retried >= 2


@pytest.mark.req("REL-1")
async def test_a_write_that_hangs_makes_the_log_unavailable(
    log: AuditLog, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        hangs.set()
        assert goes_on.wait(20)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    log.submit({"kind": "receipt", "n": 1})
    await eventually(hangs.is_set)
    assert log.healthy
    clock.time += 2
    assert not log.healthy
    with pytest.raises(AuditUnavailableError):
        log.submit({"kind": "receipt", "n": 2})
    goes_on.set()
    await eventually(lambda: log.healthy)
    log.close()


@pytest.mark.req("REL-1")
async def test_a_commit_does_not_wait_for_ever(
    directory: Path, key: SigningKey, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        assert goes_on.wait(20)
        real(descriptor)

    log = open_log(directory, key, clock, commit_timeout_s=0.05)
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    with pytest.raises(AuditUnavailableError, match="in time"):
        await log.commit({"kind": "intent", "n": 1})
    goes_on.set()
    log.close()
    assert numbers(directory) == [1]


@pytest.mark.req("PIPE-12")
async def test_a_full_buffer_refuses(
    directory: Path, key: SigningKey, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        hangs.set()
        assert goes_on.wait(20)
        real(descriptor)

    log = open_log(directory, key, clock, buffered=3)
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    log.submit({"kind": "receipt", "n": 0})
    await eventually(hangs.is_set)
    for n in (1, 2, 3):
        log.submit({"kind": "receipt", "n": n})
    with pytest.raises(AuditUnavailableError, match="full"):
        log.submit({"kind": "receipt", "n": 4})
    assert not log.offer({"kind": "receipt", "n": 5})
    with pytest.raises(AuditUnavailableError, match="full"):
        await log.commit({"kind": "intent", "n": 6})
    assert (log.stats.dropped, log.backlog) == (1, 3)
    goes_on.set()
    log.close()
    assert numbers(directory) == [0, 1, 2, 3]


@pytest.mark.req("PIPE-12")
async def test_a_record_is_written_even_if_whoever_waited_has_gone(log: AuditLog, directory: Path) -> None:
    waiting = asyncio.create_task(log.commit({"kind": "intent", "n": 1}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    log.close()
    assert numbers(directory) == [1]


async def test_a_record_that_is_not_json_fails_alone(log: AuditLog, directory: Path, key: SigningKey) -> None:
    def broken() -> dict[str, str]:
        raise ZeroDivisionError

    log.submit({"kind": "receipt", "bad": float("nan")})
    log.submit(broken)
    log.submit({"kind": "receipt", "hash": "mine"})
    with pytest.raises(AuditUnavailableError, match="JSON"):
        await log.commit({"kind": "intent", "bad": object()})  # type: ignore[dict-item] # the point
    await log.commit({"kind": "receipt", "n": 1})
    log.close()
    assert kinds(directory) == ["segment", "unwritable", "unwritable", "unwritable", "receipt", "closed"]
    assert log.stats.unwritable == 4
    assert verify(directory, key.public.pem()).ok


async def test_a_closed_log_accepts_nothing_and_says_so(log: AuditLog, directory: Path, key: SigningKey) -> None:
    log.submit({"kind": "receipt", "n": 1})
    log.close()
    assert not log.healthy
    with pytest.raises(AuditUnavailableError):
        log.submit({"kind": "receipt", "n": 2})
    with pytest.raises(AuditUnavailableError):
        await log.commit({"kind": "intent", "n": 3})
    assert not log.offer({"kind": "receipt", "n": 4})
    report = verify(directory, key.public.pem())
    assert (report.ok, report.end, report.lines, report.uncovered) == (True, LogEnd.CLOSED, 3, 0)


async def test_closing_on_a_full_disk_ends(log: AuditLog, directory: Path) -> None:
    await log.commit({"kind": "intent", "n": 0})
    with full_disk(list_segments(directory)[0].path.stat().st_size):
        log.offer({"kind": "receipt", "n": 1})
        await asyncio.to_thread(log.close)
    assert numbers(directory) == [0]
    assert log.stats.dropped == 1


@pytest.mark.req("AUD-2")
async def test_segments_follow_each_other_and_stay_one_chain(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    log = open_log(directory, key, clock, segment_bytes=2000)
    for n in range(30):
        await log.commit({"kind": "receipt", "n": n})
    log.close()
    segments = list_segments(directory)
    assert len(segments) > 5
    assert verify(directory, key.public.pem()).segments == len(segments)
    assert numbers(directory) == list(range(30))
    assert [record.record["n"] for record in read_last(directory, 6) if "n" in record.record][-1] == 29
    after = next(iter(read_records(directory, after=20)))
    assert after.sequence == 21


@pytest.mark.req("AUD-2")
async def test_only_one_process_writes_a_log(
    log: AuditLog, directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    with pytest.raises(AuditDamagedError, match="in use"):
        open_log(directory, key, clock)
    log.close()
    open_log(directory, key, clock).close()


@pytest.mark.req("AUD-2")
async def test_commits_from_two_event_loops_are_both_answered(log: AuditLog, directory: Path) -> None:
    def elsewhere() -> None:
        asyncio.run(log.commit({"kind": "intent", "n": 1}))

    await asyncio.gather(asyncio.to_thread(elsewhere), log.commit({"kind": "intent", "n": 2}))
    log.close()
    assert sorted(map(str, numbers(directory))) == ["1", "2"]


@pytest.mark.req("AUD-1", "SEC-4")
async def test_secrets_are_masked_whatever_the_caller_passes(log: AuditLog, directory: Path) -> None:
    canary = "ghp_" + "c4n4ry" * 6
    escaped = "".join(f"\\u{ord(character):04x}" for character in canary)
    await log.commit({"kind": "receipt", "reason": f"token {canary}", "list": [{"deep": canary}]})
    await log.commit({"kind": "receipt", "input": RawJson(json.dumps({"a": canary}, indent=1).encode())})
    await log.commit({"kind": "receipt", "input": RawJson(f'{{"a": "{escaped}"}}'.encode())})
    await log.commit({"kind": "receipt", "input": {"password": "hunter2", "n": 1}})
    log.close()
    text = "".join(segment.path.read_text() for segment in list_segments(directory))
    assert canary not in text
    assert escaped not in text
    assert "hunter2" not in text
    records = [record.record for record in read_records(directory) if record.kind == "receipt"]
    assert records[0]["masked"] == ["/reason", "/list/0/deep"]
    assert records[1]["input"] == records[2]["input"] == {"a": "[redacted:github-token]"}
    assert records[3]["input"] == {"password": "[redacted:password]", "n": 1}


@pytest.mark.req("REL-1")
async def test_a_clock_that_jumps_anywhere_stops_nothing(
    log: AuditLog, clock: ManualClock, directory: Path, key: SigningKey
) -> None:
    for time in (-1e18, 0.0, 1e18, float("inf"), float("-inf"), 1_780_000_000.0):
        clock.time = time
        await log.commit({"kind": "intent", "n": str(time)})
    with full_disk(list_segments(directory)[0].path.stat().st_size), pytest.raises(AuditUnavailableError):
        await log.commit({"kind": "intent", "n": "down"})
    clock.time = -1e9
    await log.commit({"kind": "intent", "n": "up"})
    log.close()
    assert len(numbers(directory)) == 7
    assert verify(directory, key.public.pem()).ok
