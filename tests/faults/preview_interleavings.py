"""
Previews that go stale (REL-5): whatever happens before a resolve, what is applied is what was previewed.

Each interleaving previews a change, lets a few random things happen, and resolves, in some while the last of them
happens. A model says whether the preview still holds. If it does, the very bytes that were previewed have to be
applied; if it does not, nothing.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError
from preview_rig import DENIES, OTHER, SAME, SETS, PreviewRig
from waiting import eventually

AGENT = Principal("agent", "token", frozenset({Role.AGENT}))
STRANGER = Principal("stranger", "token", frozenset({Role.AGENT}))
EXPIRES_S = 1800.0
_EVENTS_AT_MOST = 3
_TRIES = 20


@dataclass
class Tally:
    """What was done: interleavings by what happened, how many previews still held, how many were applied.

    `hindered` counts calls that the gateway could not decide about at that moment, and that were made again.
    """

    interleavings: int = 0
    held: int = 0
    applied: int = 0
    at_once: int = 0
    hindered: int = 0
    events: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass
class Model:
    """What a preview depends on, as it is now."""

    token: str
    redeclared: bool = False
    policy: str = SAME
    age_s: float = 0.0
    tampered: bool = False
    discarded: bool = False

    def holds(self, value: str) -> bool:
        """Whether what was previewed may be applied."""
        changed = self.redeclared or self.tampered or self.discarded or self.token != value
        return not changed and self.policy in (SAME, OTHER) and self.age_s < EXPIRES_S


async def previews_hold(
    rig: PreviewRig, *, interleavings: int, seed: int, progress: Callable[[str], bool] = lambda _: True
) -> Tally:
    """Try that many; faults are in the tally, each with what makes it again."""
    tally = Tally()
    for number in range(interleavings):
        one = Interleaving(rig, random.Random(f"{seed}/{number}"), f"{seed}-{number}", tally)
        try:
            await one.run()
        except (AssertionError, RequestError) as error:
            tally.faults.append(f"seed {seed}, interleaving {number} ({', '.join(one.happened)}): {error}")
            progress(tally.faults[-1])
        tally.interleavings += 1
        if number % 1000 == 999 and not progress(f"{number + 1} interleavings, {len(tally.faults)} faults"):
            break
    return tally


class Interleaving:
    """One preview, what happens then, and its resolve."""

    def __init__(self, rig: PreviewRig, rng: random.Random, session_id: str, tally: Tally) -> None:
        self._rig = rig
        self._rng = rng
        self._session_id = session_id
        self._tally = tally
        self._model = Model(rig.shelf.value)
        self._pending_id = ""
        self.happened: list[str] = []

    @property
    def _between(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            "the world changes": self._world_changes,
            "the world is as before": self._world_is_back,
            "the definition changes": self._redeclared,
            "the definition is as before": self._declared_as_before,
            **{f"policy: {name}": self._policy(name) for name in (SAME, OTHER, DENIES, SETS)},
            "time passes": self._time_passes,
            "a stranger resolves": self._stranger,
            "the call id is used again": self._id_used_again,
            "input comes with resolve": self._smuggled,
            "the input is changed on disk": self._tampered,
            "another preview comes and goes": self._another,
            "the agent looks": self._look,
        }

    async def run(self) -> None:
        """Preview, let things happen, resolve, compare."""
        raw = _input(self._rng)
        self._rig.shelf.applied.clear()
        try:
            await self._previewed(raw)
            for name in self._rng.choices(sorted(self._between), k=self._rng.randint(0, _EVENTS_AT_MOST)):
                await self._happens(name)
            if self._rng.random() < 0.25:
                await self._resolved_meanwhile(raw)
            else:
                await self._resolved(raw)
        finally:
            self._rig.policies.active = SAME
            if self._rig.shelf.redeclared:
                await self._rig.redeclare(redeclared=False)

    async def _previewed(self, raw: bytes) -> None:
        previewed = await self._settled("change", raw, "preview")
        assert previewed.status is CallStatus.PREVIEW, previewed
        assert previewed.pending is not None
        self._pending_id = previewed.pending.pending_id

    async def _happens(self, name: str) -> None:
        self.happened.append(name)
        self._tally.events[name] += 1
        await self._between[name]()

    # -- resolving --

    async def _resolved(self, raw: bytes) -> None:
        holds = self._model.holds(self._rig.shelf.value)
        result = await self._resolve()
        self._nothing_stale(raw)
        applied = bool(self._rig.shelf.applied)
        assert applied == holds, f"it {'holds' if holds else 'does not hold'}, and: {result}"
        assert applied == (result.status is CallStatus.COMPLETED and not result.is_error), result
        self._tally.held += holds
        if not holds:
            code = result.decision.reasons[0].code if result.decision and result.decision.reasons else ""
            self._tally.refusals[f"{result.status.value} {code}"] += 1

    async def _resolved_meanwhile(self, raw: bytes) -> None:
        """The last thing happens while it is resolved; either may come first, but nothing in between."""
        self._tally.at_once += 1
        held_before = self._model.holds(self._rig.shelf.value)
        # The world is the provider's to guard at that moment, and what is pending on top is to be resolved first.
        names = [name for name in self._between if not name.startswith(("the world", "another preview"))]
        happening = asyncio.ensure_future(self._happens(self._rng.choice(sorted(names))))
        for _ in range(self._rng.randint(0, 20)):
            await asyncio.sleep(0)
        result, _ = await asyncio.gather(self._resolve(), happening)
        self._nothing_stale(raw)
        held_after = self._model.holds(self._rig.shelf.value)
        applied = bool(self._rig.shelf.applied)
        if held_before == held_after or not (held_before or held_after):
            assert applied == held_before, f"before {held_before}, after {held_after}: {result}"

    def _nothing_stale(self, raw: bytes) -> None:
        applied = self._rig.shelf.applied
        assert len(applied) <= 1, "applied twice"
        assert all(one.raw == raw for one in applied), f"previewed {raw!r}, applied {applied}"
        assert not any(one.stale for one in applied), "the world had changed"
        self._tally.applied += len(applied)

    async def _resolve(self) -> CallResult:
        asked = {"action": "apply", "reason": "as previewed", "pending_id": self._pending_id}
        return await self._settled("resolve", json.dumps(asked).encode(), "apply")

    async def _settled(self, tool: str, raw: bytes, call_id: str) -> CallResult:
        """The answer of a gateway that is well: one whose disk stalls denies, and is asked again."""
        for attempt in range(_TRIES):
            result = await self._call(tool, raw, f"{call_id}{attempt}")
            reasons = result.decision.reasons if result.decision is not None else ()
            if not any(reason.code.startswith("gateway_error.") for reason in reasons):
                return result
            assert not self._rig.shelf.applied, "it was denied, and applied"
            self._tally.hindered += 1
            await eventually(lambda: self._rig.gateway.rooms.parts.recorder.healthy)
        raise AssertionError("the gateway does not get well")

    async def _call(self, tool: str, raw: bytes, call_id: str, who: Principal = AGENT) -> CallResult:
        request = CallRequest(self._session_id, call_id, tool, raw, deadline_s=60.0)
        return await self._rig.gateway.rooms.pipeline.handle(who, request)

    # -- what may happen --

    async def _world_changes(self) -> None:
        self._rig.shelf.value = f"value {self._rng.random()}"

    async def _world_is_back(self) -> None:
        self._rig.shelf.value = self._model.token

    async def _redeclared(self) -> None:
        self._model.redeclared = True
        await self._rig.redeclare(redeclared=True)

    async def _declared_as_before(self) -> None:
        await self._rig.redeclare(redeclared=False)
        self._model.redeclared = False

    def _policy(self, name: str) -> Callable[[], Awaitable[None]]:
        async def change() -> None:
            self._rig.policies.active = self._model.policy = name

        return change

    async def _time_passes(self) -> None:
        seconds = self._rng.choice((10.0, EXPIRES_S / 3, EXPIRES_S + 1))
        self._rig.clock.later_s += seconds
        self._model.age_s += seconds

    async def _stranger(self) -> None:
        asked = {"action": "apply", "reason": "mine", "pending_id": self._pending_id}
        await self._refused_by_the_door("resolve", json.dumps(asked).encode(), "stranger", STRANGER)

    async def _id_used_again(self) -> None:
        await self._refused_by_the_door("change", b'{"value":"another"}', "preview0", AGENT)

    async def _refused_by_the_door(self, tool: str, raw: bytes, call_id: str, who: Principal) -> None:
        try:
            answer = await self._call(tool, raw, call_id, who)
        except RequestError:
            return
        raise AssertionError(f"it was answered: {answer}")

    async def _smuggled(self) -> None:
        asked = {"action": "apply", "reason": "go", "input": {"value": "smuggled"}, "pending_id": self._pending_id}
        answer = await self._call("resolve", json.dumps(asked).encode(), f"smuggled{len(self.happened)}")
        assert answer.is_error, answer

    async def _tampered(self) -> None:
        self._model.tampered = True
        self._rig.tamper(self._session_id)

    async def _another(self) -> None:
        number = len(self.happened)
        answer = await self._call("change", b'{"value":"another"}', f"another{number}")
        if answer.pending is not None:
            asked = {"action": "discard", "reason": "no", "pending_id": answer.pending.pending_id}
            await self._call("resolve", json.dumps(asked).encode(), f"discard{number}")

    async def _look(self) -> None:
        await self._call("look", b"{}", f"look{len(self.happened)}")


def _input(rng: random.Random) -> bytes:
    """An object in bytes that no encoder would give back alike."""
    value = rng.choice(("1e3", "1.50", "-0", '"\\u00fc"', '"ü"', "[ 1 ,2]", '{"b":1, "a":2}', '"\\/"', "true", '""'))
    blank = rng.choice(("", " ", "\n", "\t "))
    return f'{blank}{{{blank}"value"{blank}:{blank}{value}{blank}}}{blank}'.encode()
