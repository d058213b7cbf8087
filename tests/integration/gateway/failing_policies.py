"""Faults of policies and of the engine beside the gateway (REL-1)."""

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from failing_scene import ALLOW, ALLOWING, READ, Begins, Fault, Scene, deciding, policy
from interlock_gateway.core.decision import GatewayErrorCode as Code
from waiting import a_moment, eventually

LOOPS = f"""decision := {ALLOW} if steps > 0

digits := numbers.range(1, 1000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])
"""
CRASHES = f"decision := {ALLOW} if deeper(0) > 0\n\ndeeper(n) := deeper(n + 1)\n"
CONFLICTS = 'decision := {"verdict": "deny"} if input.call\n\n' + f"decision := {ALLOW} if input.call\n"
READS_ONLY = f"""decision := {ALLOW} if input.tool.name == "{READ}"

else := {{"verdict": "deny", "reasons": [{{"code": "reads_only", "message": "not now", "rule": "custom/reads"}}]}}
"""
BROKEN = "package interlock.custom\n\nfindings contains {\n"
# A worker is started, or comes from the nursery, which is started itself or runs and becomes two.
WAYS_TO_START = ("process.start_isolated", "nursery.start_isolated", "nursery.Nursery._asked")
UNDONE = frozenset({Code.POLICY_UNAVAILABLE, Code.POLICY_CRASHED, Code.POLICY_TIMEOUT})


class Panic(BaseException):
    """What a native engine raises: no `Exception`."""


def engine_raises(error: BaseException) -> Begins:
    """The engine raises what no engine should."""

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        async def broken(_input: bytes) -> None:
            raise error

        with scene.patched.context() as patched:
            patched.setattr(scene.at.gateway.rooms.engine, "evaluate", broken)
            yield

    return begins


@asynccontextmanager
async def workers_killed(scene: Scene) -> AsyncIterator[None]:
    """Whoever kills the workers, again and again, while they evaluate."""
    await scene.decided_by(deciding(LOOPS), longest_wait_s=0.5)
    engine = scene.at.gateway.rooms.engine

    async def kill() -> None:
        while True:
            for process_id in engine.process_ids:
                with suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)
            await a_moment()

    killing = asyncio.create_task(kill())
    yield
    killing.cancel()
    await scene.decided_by(ALLOWING)


@asynccontextmanager
async def no_worker_starts(scene: Scene) -> AsyncIterator[None]:
    """The system has no room for another process, and those that ran are gone."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    await scene.decided_by(ALLOWING, longest_wait_s=0.2)
    engine = scene.at.gateway.rooms.engine
    with scene.patched.context() as patched:
        for way in WAYS_TO_START:
            patched.setattr(f"interlock_gateway.policy.embedded.{way}", full)
        for process_id in engine.process_ids:
            os.kill(process_id, signal.SIGKILL)
        await eventually(lambda: not engine.ready)
        yield


@asynccontextmanager
async def input_too_large(scene: Scene) -> AsyncIterator[None]:
    """The document for policy is larger than the engine takes."""
    with scene.patched.context() as patched:
        patched.setattr(scene.at.gateway.rooms.engine, "_max_input_bytes", 64)
        yield


def reload_of(content: str | None) -> Begins:
    """A reload that brings a broken rule, or finds nothing: what was in force goes on."""

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        await scene.decided_by(deciding(READS_ONLY))
        revision = scene.at.gateway.rooms.engine.revision
        (overlay,) = scene.at.gateway.config.policy.overlays
        if content is None:
            shutil.rmtree(overlay)
        else:
            (overlay / "custom" / "broken.rego").write_text(content)
        outcome = await scene.at.gateway.rooms.policy.reload()
        assert not outcome.accepted
        assert scene.at.gateway.rooms.engine.revision == revision
        yield
        await scene.decided_by(ALLOWING)

    return begins


@asynccontextmanager
async def no_policy_yet(scene: Scene) -> AsyncIterator[None]:
    """The gateway has been started without a policy that it may use."""
    assert scene.at.gateway.rooms.engine.revision == ""
    yield
    await scene.decided_by(ALLOWING)


def one(code: Code) -> frozenset[Code]:
    return frozenset({code})


POLICY_FAULTS = (
    Fault("engine raises", engine_raises(RuntimeError("boom")), one(Code.INTERNAL)),
    Fault("engine panics", engine_raises(Panic("boom")), one(Code.INTERNAL)),
    Fault("engine out of memory", engine_raises(MemoryError()), one(Code.INTERNAL)),
    Fault("workers killed", workers_killed, one(Code.POLICY_CRASHED), UNDONE),
    Fault("no worker starts", no_worker_starts, one(Code.POLICY_UNAVAILABLE)),
    Fault("policy loops", policy(LOOPS, timeout_s=0.3), one(Code.POLICY_TIMEOUT), UNDONE),
    Fault("policy recurses", policy(CRASHES), one(Code.POLICY_CRASHED), UNDONE),
    Fault("undefined", policy(f"decision := {ALLOW} if input.nothing"), one(Code.POLICY_UNDEFINED)),
    Fault("rules conflict", policy(CONFLICTS), one(Code.POLICY_CONFLICT)),
    Fault(
        "evaluation fails",
        policy(f"decision := {ALLOW} if 1 / (count(input.call) * 0) > 0"),
        one(Code.POLICY_ERROR),
    ),
    Fault("decision of a wrong type", policy('decision := ["allow"]'), one(Code.POLICY_MALFORMED)),
    Fault("decision is true", policy("decision := true"), one(Code.POLICY_MALFORMED)),
    Fault("unknown verdict", policy('decision := {"verdict": "permit"}'), one(Code.POLICY_MALFORMED)),
    Fault(
        "unknown obligation",
        policy('decision := {"verdict": "allow", "obligations": {"sandbox": true}}'),
        one(Code.POLICY_MALFORMED),
    ),
    Fault(
        "reasons of a wrong type", policy('decision := {"verdict": "allow", "reasons": 1}'), one(Code.POLICY_MALFORMED)
    ),
    Fault("input too large", input_too_large, one(Code.POLICY_INPUT_TOO_LARGE)),
    Fault("bad policy at reload", reload_of(BROKEN), said="reads_only", reads=True, setting="overlay"),
    Fault("policy missing at reload", reload_of(None), said="reads_only", reads=True, setting="overlay"),
    Fault("policy missing at start", no_policy_yet, one(Code.POLICY_UNAVAILABLE), setting="no policy"),
)
