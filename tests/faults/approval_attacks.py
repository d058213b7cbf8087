"""Attacks on approvals, with their sizes as arguments: used twice, or for something else (REL-2, REL-3)."""

import asyncio
import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from approval_rig import AGENT, OTHER_AGENT, PERSON, Rig, an_answer, approve
from interlock_gateway.approvals.answers import Said
from interlock_gateway.core.call import CallRequest, CallResult, CallState, CallStatus, CheckpointMode
from interlock_gateway.core.checkpoint import AnswerRefusedError, ApproverDecision, Checkpoint
from interlock_gateway.core.digest import BoundCall
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError
from interlock_gateway.pipeline.call_records import CallRecords
from interlock_gateway.pipeline.canonical import canonical
from interlock_gateway.pipeline.ports import CallRecord
from interlock_gateway.serving import Gateway

_AT_ONCE = 20
"""Calls whose racers run at the same time."""


def request(
    session_id: str, call_id: str, tool: str, raw: bytes, mode: CheckpointMode = CheckpointMode.DETACH
) -> CallRequest:
    return CallRequest(session_id, call_id, tool, raw, checkpoint_mode=mode, deadline_s=60.0)


async def race_redeemers(rig: Rig, *, approvals: int, racers: int) -> Counter[str]:
    """REL-3: `racers` at all gateways go on with each of `approvals` approved calls at once; what they were answered.

    Half of them call again, half wait for the call.
    """
    answers: Counter[str] = Counter()
    for first in range(0, approvals, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, approvals))
        for n in numbers:
            await _held(rig.gateways[0], request("race", f"c{n}", "wreck", b'{"what":"%d"}' % n))
            await approve(rig.gateways[-1], "race", f"c{n}")
        racing = [_redeem(rig, n, racer) for n in numbers for racer in range(racers)]
        answers.update(await asyncio.gather(*racing))
    return answers


async def race_resolvers(rig: Rig, *, approvals: int, racers: int) -> Counter[str]:
    """The same for `resolve`: `racers` go on with each of `approvals` approved applies at once."""
    answers: Counter[str] = Counter()
    for n in range(approvals):
        session_id, raw = f"resolve{n}", b'{"what":"%d"}' % n
        previewed = await rig.gateways[0].rooms.pipeline.handle(AGENT, request(session_id, "p", "replace", raw))
        assert previewed.status is CallStatus.PREVIEW, previewed
        apply = request(session_id, "r", "resolve", b'{"action":"apply","reason":"go"}')
        await _held(rig.gateways[0], apply)
        await approve(rig.gateways[-1], session_id, "r")
        places = islice(cycle(rig.gateways), racers)
        results = await asyncio.gather(*(place.rooms.pipeline.handle(AGENT, apply) for place in places))
        answers.update(_text(result) for result in results)
    return answers


async def mutate_approvals(
    rig: Rig, *, attempts: int, at_once: int = 30, progress: Callable[[int], None] = lambda _: None
) -> Counter[str]:
    """REL-2: approvals that are for something else than what would run, each in one way; the reasons of the refusals.

    Nothing may run. The checkpoints are put into the state as they would be, had somebody changed what they are for.
    `progress` is told how many were tried.
    """
    gateway = rig.gateways[0]
    await _held(gateway, request("mutate", "template", "wreck", b'{"what":"template"}'))
    template = await gateway.rooms.store.checkpoints.checkpoint_of_call("mutate", "template")
    assert template is not None
    await gateway.rooms.pipeline.handle(AGENT, request("elsewhere", "x", "wreck", b'{"what":"x"}'))
    reasons: Counter[str] = Counter()
    ways = list(islice(cycle(_mutations(gateway.rooms.parts.clock.now()).items()), attempts))
    for first in range(0, attempts, at_once):
        some = ways[first : first + at_once]
        tries = (_attempt(gateway, mutate(_copy(template, first + n))) for n, (_, mutate) in enumerate(some))
        found = await asyncio.gather(*tries)
        reasons.update(f"{name}: {reason}" for (name, _), reason in zip(some, found, strict=True))
        progress(first + len(some))
    return reasons


async def decide_ones_own(rig: Rig, *, attempts: int) -> int:
    """REL-2: an agent answers its own checkpoints, with every credential it might have; how many answers counted."""
    gateway, counted = rig.gateways[0], 0
    store, clock = gateway.rooms.store.checkpoints, gateway.rooms.parts.clock
    roles = ({Role.AGENT}, {Role.APPROVER}, {Role.AGENT, Role.APPROVER}, {Role.OPERATOR, Role.APPROVER})
    for n in range(attempts):
        call_id = f"own{n}"
        await _held(gateway, request("own", call_id, "wreck", b'{"what":"own"}'))
        checkpoint = await store.checkpoint_of_call("own", call_id)
        assert checkpoint is not None
        decision = (ApproverDecision.APPROVE, ApproverDecision.EDIT, ApproverDecision.RESPOND)[n % 3]
        himself = Principal(AGENT.id, "token", frozenset(roles[n % 4]), ("ops",))
        said = _said(checkpoint, decision)
        answer = replace(an_answer(clock.now(), decision), approver=AGENT.id)
        for attempt in (
            gateway.rooms.approvals.desk.decide(himself, said),
            store.answer_checkpoint(checkpoint.checkpoint_id, answer, clock.now()),
        ):
            try:
                await attempt
            except (RequestError, AnswerRefusedError):
                continue
            counted += 1
        await gateway.rooms.pipeline.handle(AGENT, request("own", call_id, "wreck", b'{"what":"own"}'))
        await store.withdraw_checkpoint(checkpoint.checkpoint_id, clock.now(), "next")
    return counted


def _said(checkpoint: Checkpoint, decision: ApproverDecision) -> Said:
    edited = b'{"what":"edited"}' if decision is ApproverDecision.EDIT else b""
    response = "approved" if decision is ApproverDecision.RESPOND else ""
    return Said(checkpoint.checkpoint_id, decision, "approved", edited_input=edited, response=response)


async def _held(gateway: Gateway, asked: CallRequest) -> None:
    held = await gateway.rooms.pipeline.handle(AGENT, asked)
    assert held.status is CallStatus.AWAITING_CHECKPOINT, held


async def _redeem(rig: Rig, n: int, racer: int) -> str:
    gateway = rig.gateways[racer % len(rig.gateways)]
    if racer // len(rig.gateways) % 2:
        records = CallRecords(gateway.rooms.parts, gateway.rooms.pipeline)
        known = await records.wait(AGENT, "race", f"c{n}", 60.0)
        assert known.result is not None
        return _text(known.result)
    mode = CheckpointMode.DETACH if racer % 3 else CheckpointMode.WAIT
    again = request("race", f"c{n}", "wreck", b'{"what":"%d"}' % n, mode)
    return _text(await gateway.rooms.pipeline.handle(AGENT, again))


def _text(result: CallResult) -> str:
    texts = [part.text for part in result.content if hasattr(part, "text") and isinstance(part.text, str)]
    return f"{result.status.value}: {''.join(texts)}"


Mutation = Callable[[Checkpoint], tuple[Checkpoint, Principal]]


def _mutations(now: float) -> dict[str, Mutation]:
    """Each way in which an approval may be for something else; with who comes to use it."""
    return {
        "tool": lambda one: (replace(one, tool="wreck_too"), AGENT),
        "tool that is not there": lambda one: (replace(one, tool="nothing"), AGENT),
        "input": lambda one: (replace(one, input=b'{"what":"something else"}'), AGENT),
        "input by a blank": lambda one: (replace(one, input=b'{"what":"template "}'), AGENT),
        "input by a member": lambda one: (replace(one, input=b'{"what":"template","approved":true}'), AGENT),
        "workdir": lambda one: (replace(one, workdir="/"), AGENT),
        "principal": lambda one: (replace(one, requester=OTHER_AGENT.id), AGENT),
        "somebody else": lambda one: (one, OTHER_AGENT),
        "the approver": lambda one: (one, Principal(PERSON.id, "token", frozenset({Role.AGENT}))),
        "session": lambda one: (replace(one, session_id="elsewhere"), AGENT),
        "provider": lambda one: (replace(one, provider="another"), AGENT),
        "definition": lambda one: (replace(one, pin="0" * 64), AGENT),
        "policy revision": lambda one: (_under_another_policy(one), AGENT),
        "digest": lambda one: (replace(one, digest="0" * 64), AGENT),
        "expiry": lambda one: (replace(one, expires_at=now - 1), AGENT),
    }


def _under_another_policy(one: Checkpoint) -> Checkpoint:
    value = json.loads(one.input)
    bound = BoundCall(one.requester, one.session_id, one.tool, one.pin, one.workdir, value, "another")
    return replace(one, policy_revision="another", digest=bound.digest(canonical))


def _copy(template: Checkpoint, n: int) -> Checkpoint:
    return replace(template, checkpoint_id=str(uuid.uuid4()), call_id=f"mutated{n}")


async def _attempt(gateway: Gateway, mutated: tuple[Checkpoint, Principal]) -> str:
    """Have it approved, whatever it is for, and use it; the reason why nothing ran, or what ran."""
    checkpoint, caller = mutated
    store = gateway.rooms.store.checkpoints
    record = CallRecord(
        checkpoint.session_id,
        checkpoint.call_id,
        checkpoint.request_digest,
        CallState.AWAITING_CHECKPOINT,
        checkpoint.created_at,
        CallStatus.AWAITING_CHECKPOINT,
    )
    assert (await store.open_checkpoint(checkpoint, record)).checkpoint is not None
    before = min(gateway.rooms.parts.clock.now(), checkpoint.expires_at - 1)
    with contextlib.suppress(AnswerRefusedError):  # the housekeeping was there first, and it has expired
        await store.answer_checkpoint(checkpoint.checkpoint_id, an_answer(before), before)
    records = CallRecords(gateway.rooms.parts, gateway.rooms.pipeline)
    try:
        known = await records.wait(caller, checkpoint.session_id, checkpoint.call_id, 0.5)
    except RequestError as error:
        return error.fault.value
    if known.result is None or known.result.decision is None:
        return known.state.value
    reasons = known.result.decision.reasons
    return reasons[0].code if known.result.status is CallStatus.DENIED else known.result.status.value
