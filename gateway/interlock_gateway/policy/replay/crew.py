"""The processes of a replay: one for each core, fed with batches; one that hangs or dies costs one decision.

A thread for each process sends a batch and waits for its tally. When the process has ended instead, a new one gets the
batch's receipts one by one, so that it is known which of them it cannot evaluate.
"""

import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.embedded.process import ALLOCATOR
from interlock_gateway.policy.replay.comparing import change, denied_for, said
from interlock_gateway.policy.replay.lines import parsed
from interlock_gateway.policy.replay.tally import Tally, read_tally

_LENGTH = 4
# What a process that neither answers nor uses the processor is waited for; the kernel ends one that only uses it.
SILENT_S = 30.0
# With so many, the candidate is not worth going on with.
MOST_DEATHS = 200


class ReplayError(Exception):
    """The replay cannot go on; the message says why."""


class _DeadError(Exception):
    def __init__(self, code: GatewayErrorCode) -> None:
        super().__init__(code.value)
        self.code = code


@dataclass(frozen=True, slots=True)
class Job:
    """What the processes do. `seconds` of processor time is what one evaluation may take at most."""

    candidate: PolicyBundle
    baseline: PolicyBundle | None
    when: str
    seconds: float
    memory_bytes: int

    def encoded(self) -> bytes:
        """The job as a process reads it."""
        told = {
            "candidate": _policies(self.candidate),
            "baseline": None if self.baseline is None else _policies(self.baseline),
            "revision": "" if self.baseline is None else self.baseline.revision,
            "when": self.when,
            "seconds": self.seconds,
            "memory_bytes": self.memory_bytes,
        }
        return json.dumps(told).encode()


class Crew:
    """Replays batches with `processes` processes; `on_tally` gets each batch's tally, by one thread at a time."""

    def __init__(self, job: Job, processes: int, on_tally: Callable[[Tally], None]) -> None:
        self._job = job
        self._encoded = job.encoded()
        self._processes = processes
        self._on_tally = on_tally
        self._lock = threading.Lock()
        self._deaths = 0
        self._failure: BaseException | None = None
        self._started: list[_Process] = []

    def run(self, batches: Iterator[bytes]) -> None:
        """Replay every batch: receipts one behind another, each with its line feed.

        Raises `ReplayError`, and what `batches` and `on_tally` raise.
        """
        threads = [threading.Thread(target=self._work, args=(batches,), daemon=True) for _ in range(self._processes)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:
            # Ctrl-C comes to this thread alone: the others would go on with their batches.
            self._failure = self._failure or error
            for worker in tuple(self._started):
                worker.kill()
            raise
        if self._failure is not None:
            raise self._failure

    def _work(self, batches: Iterator[bytes]) -> None:
        worker: _Process | None = None
        try:
            batch = self._next(batches)
            while batch is not None:
                worker = worker or self._start()
                following, is_alive = self._replayed(worker, batch, batches)
                worker = worker if is_alive else self._one_by_one(batch)
                batch = following
        except BaseException as error:  # noqa: BLE001 - it is for whoever called `run`
            with self._lock:
                self._failure = self._failure or error
        finally:
            if worker is not None:
                worker.end()

    def _start(self) -> "_Process":
        if self._failure is not None:
            raise self._failure
        worker = _Process(self._encoded)
        self._started.append(worker)
        return worker

    def _next(self, batches: Iterator[bytes]) -> bytes | None:
        with self._lock:
            return None if self._failure is not None else next(batches, None)

    def _replayed(self, worker: "_Process", batch: bytes, batches: Iterator[bytes]) -> tuple[bytes | None, bool]:
        """The batch after this one, which is read while the process works; and whether the process outlived its own."""
        following, is_read = None, False
        try:
            worker.begin(batch)
            following, is_read = self._next(batches), True
            self._told(worker.tally())
        except _DeadError:
            return following if is_read else self._next(batches), False
        return following, True

    def _one_by_one(self, batch: bytes) -> "_Process | None":
        worker: _Process | None = None
        for line in io.BytesIO(batch):
            try:
                worker = worker or self._start()
                worker.begin(line)
                self._told(worker.tally())
            except _DeadError as dead:
                worker = None
                self._told(self._lost(line, dead.code))
        return worker

    def _lost(self, line: bytes, code: GatewayErrorCode) -> Tally:
        """The tally of a decision that the candidate cannot make: the gateway would deny the call."""
        with self._lock:
            self._deaths += 1
            if self._deaths > MOST_DEATHS:
                raise ReplayError(f"the policies ended {MOST_DEATHS} processes, the last with {code.value}")
        tally = Tally()
        tally.failed[code.value] += 1
        one = parsed(line)
        before = said(one.result) if one is not None else None
        if one is not None and before is not None:
            tally.count(one, change(before, denied_for(DecisionError(code, ""))))
        return tally

    def _told(self, tally: Tally) -> None:
        with self._lock:
            self._on_tally(tally)


class _Process:
    """A process that replays. Raises `_DeadError` when it has ended, and `ReplayError` when it cannot be started."""

    def __init__(self, job: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "interlock_gateway.policy.replay.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=ALLOCATOR,
            # Not in the terminal's group, where an interrupt would reach it; but in its session: where priorities are
            # weighed within one first (autogroups), whoever makes a replay go behind makes its processes, too.
            process_group=0,
        )
        try:
            self._send(job)
            self._receive()
        except _DeadError:
            self.end()
            raise ReplayError("the policies cannot be loaded for a replay") from None

    def begin(self, batch: bytes) -> None:
        """Send a batch; `tally` is to follow."""
        try:
            self._send(batch)
        except _DeadError:
            self.end()
            raise

    def tally(self) -> Tally:
        """What came of the batch that was begun."""
        try:
            return read_tally(json.loads(self._receive()))
        except _DeadError:
            self.end()
            raise

    def kill(self) -> None:
        """Have it end, whatever another thread does with it."""
        self._process.kill()

    def end(self) -> None:
        """End it, however it is."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was not sent is lost with the process

    def _send(self, payload: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(len(payload).to_bytes(_LENGTH, "little") + payload)
        try:
            while view:
                view = view[os.write(self._process.stdin.fileno(), view) :]
        except BrokenPipeError:
            raise self._dead() from None

    def _receive(self) -> bytes:
        size = int.from_bytes(self._read(_LENGTH), "little")
        return self._read(size)

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = bytearray()
        while len(data) < size:
            if not select.select([self._process.stdout], [], [], SILENT_S)[0]:
                self._process.kill()
            piece = os.read(self._process.stdout.fileno(), size - len(data))
            if not piece:
                raise self._dead()
            data += piece
        return bytes(data)

    def _dead(self) -> _DeadError:
        ended = self._process.wait()
        timed_out = ended in {-signal.SIGPROF, -signal.SIGKILL}
        return _DeadError(GatewayErrorCode.POLICY_TIMEOUT if timed_out else GatewayErrorCode.POLICY_CRASHED)


def _policies(bundle: PolicyBundle) -> dict[str, Any]:
    modules = prepared(bundle.modules, bundle.data_json)
    return {"modules": [(module.package, module.source) for module in modules], "data_json": bundle.data_json}
