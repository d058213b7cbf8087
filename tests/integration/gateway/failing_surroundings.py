"""Faults around the gateway: disks, the database, what is plugged in, the clock (REL-1)."""

import errno
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import Any

from failing_policies import one
from failing_scene import ALLOW, ALLOWING, READ, Begins, Fault, Scene, deciding
from interlock_gateway.audit import segments
from interlock_gateway.core.decision import GatewayErrorCode as Code
from interlock_gateway.pipeline.input_schema import InputSchema
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.store import SqlStateStore

YEAR_S = 366 * 86_400.0
PATIENCE_S = 10.0


class Disk:
    """The module `os` with some of its functions replaced."""

    def __init__(self, **replaced: Callable[..., Any]) -> None:
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(os, name)


def disk(function: str, number: int) -> Begins:
    """The disk of the receipts fails."""

    def fails(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        with scene.patched.context() as patched:
            patched.setattr(segments, "os", Disk(**{function: fails}))
            yield

    return begins


@asynccontextmanager
async def disk_hangs(scene: Scene) -> AsyncIterator[None]:
    """A write to the receipts does not come back."""
    audit, back = scene.at.gateway.rooms.audit, threading.Event()

    def hangs(descriptor: int, data: memoryview) -> int:
        back.wait()
        return os.write(descriptor, data)

    with scene.patched.context() as patched:
        patched.setattr(audit, "_limits", replace(audit._limits, stall_s=0.2, commit_timeout_s=0.5))
        patched.setattr(segments, "os", Disk(write=hangs))
        try:
            yield
        finally:
            back.set()


@asynccontextmanager
async def database_locked(scene: Scene) -> AsyncIterator[None]:
    """Another process holds the database."""
    place = scene.at.directory / "state" / "state.db"
    with closing(sqlite3.connect(place, isolation_level=None, timeout=PATIENCE_S)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@asynccontextmanager
async def database_down(scene: Scene) -> AsyncIterator[None]:
    """Nothing that is asked of the database is answered."""

    def down(*_: object) -> None:
        raise StateUnavailableError("gone")

    with scene.patched.context() as patched:
        patched.setattr(Lane, "submit", down)
        yield


@asynccontextmanager
async def lease_lost(scene: Scene) -> AsyncIterator[None]:
    """Other replicas have taken this one for dead."""
    with scene.patched.context() as patched:
        patched.setattr(SqlStateStore, "stands", property(lambda _: False))
        yield


@asynccontextmanager
async def facts_hang(scene: Scene) -> AsyncIterator[None]:
    """A file system that is asked about a call does not answer."""
    back = threading.Event()
    with scene.patched.context() as patched:
        patched.setattr("interlock_gateway.facts.offload.extract", lambda _: back.wait())
        patched.setattr(scene.at.gateway.rooms.parts.facts, "_timeout_s", 0.1)
        try:
            yield
        finally:
            back.set()


@asynccontextmanager
async def schemas_hang(scene: Scene) -> AsyncIterator[None]:
    """What schemas are checked in beside the loop gets no turn, and every input has to be checked there."""
    with scene.patched.context() as patched:
        patched.setattr("interlock_gateway.pipeline.schemas_aside.ANSWER_S", 0.0)
        patched.setattr(InputSchema, "at_once", lambda _schema, _document: None)
        patched.setattr(InputSchema, "_is_short", lambda _schema, _here, _raw: False)
        yield


@asynccontextmanager
async def facts_raise(scene: Scene) -> AsyncIterator[None]:
    """An extractor raises, which none should."""

    def broken(_: object) -> None:
        raise ZeroDivisionError

    with scene.patched.context() as patched:
        patched.setattr("interlock_gateway.facts.offload.extract", broken)
        yield


def interceptor(trouble: str) -> Begins:
    """The plug-in that is asked about every call does something else than answer."""

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        scene.trouble.append(trouble)
        yield
        scene.trouble.clear()

    return begins


def clock_jumps(by_s: float) -> Begins:
    """The clock is set while a policy grants what is no read for the next hour only."""

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        now = scene.at.clock.now()
        source = (
            f'decision := {ALLOW} if input.tool.name == "{READ}"\n\n'
            f"else := {ALLOW} if abs(input.call.time_unix_s - {now}) < 3600\n\n"
            'else := {"verdict": "deny", "reasons": [{"code": "hours", "message": "not now", "rule": "custom/hours"}]}'
        )
        await scene.decided_by(deciding(source))
        scene.at.clock.ahead_s = by_s
        yield
        scene.at.clock.ahead_s = 0.0
        await scene.everything_runs("the clock is right")
        await scene.decided_by(ALLOWING)

    return begins


SURROUNDING_FAULTS = (
    Fault("audit disk full", disk("write", errno.ENOSPC), one(Code.AUDIT_UNAVAILABLE), reads=True),
    Fault("audit disk fails to sync", disk("fdatasync", errno.EIO), one(Code.AUDIT_UNAVAILABLE), reads=True),
    Fault("audit disk hangs", disk_hangs, one(Code.AUDIT_UNAVAILABLE), reads=True),
    Fault("database locked", database_locked, one(Code.STATE_UNAVAILABLE), reads=True),
    Fault("database down", database_down, also=one(Code.STATE_UNAVAILABLE), error="STATE_UNAVAILABLE", reads=True),
    Fault("lease lost", lease_lost, one(Code.STATE_UNAVAILABLE), reads=True),
    Fault("facts hang", facts_hang, one(Code.FACTS_FAILED)),
    Fault("schemas hang", schemas_hang, one(Code.INPUT_UNCHECKED)),
    Fault("facts raise", facts_raise, one(Code.INTERNAL)),
    Fault("interceptor raises", interceptor("raise"), one(Code.INTERCEPTOR_FAILED), setting="interceptor"),
    Fault("interceptor hangs", interceptor("hang"), one(Code.INTERCEPTOR_FAILED), setting="interceptor"),
    Fault("interceptor answers true", interceptor("true"), one(Code.INTERCEPTOR_FAILED), setting="interceptor"),
    Fault("clock jumps ahead", clock_jumps(YEAR_S), said="hours", reads=True),
    Fault("clock jumps back", clock_jumps(-YEAR_S), said="hours", reads=True),
)
