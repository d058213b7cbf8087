"""Plays sessions call by call: what policy decides about each, with what the session has done until then."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, cast

from interlock_gateway.core.decision import Decision, DecisionError, Verdict, denial_for_failure
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.recent import PrincipalCalls
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.core.tool import Effect, classify
from interlock_gateway.pipeline.policy_input import rfc3339
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import (
    CaseCall,
    CaseFile,
    CaseSession,
    CaseTool,
    Expected,
    definition_of,
    document_of,
)
from interlock_gateway.policy.corpus.sessions import CorpusSession, Harm, SessionCall, Wanted
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings

_ONE_WORKER = PoolSettings(workers=1, most_workers=1, timeout_s=5.0, longest_wait_s=10.0)
_MOST_STEPS = 6
_APPROVED: JsonObject = {
    "id": "checkpoint-1",
    "outcome": "approved",
    "approvers": [{"id": "ada", "groups": ["approvers"]}],
}
_DELIVERABLE: JsonObject = {
    "hidden_assumptions": ["What was read is still true."],
    "failure_scenarios": ["It was written by somebody else."],
    "verdict": "proceed",
    "verdict_reason": "It is what was asked for.",
}


class Outcome(StrEnum):
    """What became of a call: it ran, after a preview or without; a person was asked; it was denied."""

    ALLOWED = "allowed"
    PREVIEWED = "previewed"
    ASKED = "asked"
    DENIED = "denied"


class Error(StrEnum):
    """In what a call's outcome is not the wanted one.

    Harm was let through; somebody was bothered for nothing; nobody was asked about what is for people to say, though it
    does no harm this time.
    """

    MISSED = "missed"
    BOTHERED = "bothered"
    UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class Asked:
    """What policy was asked once, as the input document's JSON, and what it answered; empty when it failed."""

    document: bytes
    answer: bytes


@dataclass(frozen=True, slots=True)
class PlayedCall:
    """One call of a session, counted from 1, and what became of it; `rules` are those that decided it.

    `asked` is everything that policy was asked about it: again at apply, and after a person has approved.
    """

    session: CorpusSession
    number: int
    call: SessionCall
    wanted: Wanted
    outcome: Outcome
    rules: tuple[str, ...]
    asked: tuple[Asked, ...]

    @property
    def error(self) -> Error | None:
        """What is wrong with the outcome, if anything."""
        passed = self.outcome in {Outcome.ALLOWED, Outcome.PREVIEWED}
        if self.wanted is Wanted.FREE and not passed:
            return Error.BOTHERED
        if self.wanted is Wanted.ASK and passed:
            return Error.UNASKED if self.call.harm is Harm.NONE else Error.MISSED
        return None


@dataclass(slots=True)
class _Past:
    """What a session and its principal have done, changed in place as the session is played."""

    now: float
    facts: SessionFacts = field(default_factory=SessionFacts)
    lately: PrincipalCalls = field(default_factory=PrincipalCalls)


@dataclass(frozen=True, slots=True)
class _Step:
    """Where a call is on its way: asked for or applied, with what people and the agent have said about it."""

    kind: Literal["call", "apply"] = "call"
    checkpoint: JsonObject | None = None
    deliverable: JsonObject | None = None


def play(bundle: PolicyBundle, sessions: Sequence[CorpusSession]) -> tuple[PlayedCall, ...]:
    """What becomes of every call of the sessions under the bundle's policies.

    Previews are applied, deliverables given. A person who is asked says yes to what does no harm and no to what does,
    so that the session goes on as it would. Under a profile that only observes it is what would have been.
    """
    return asyncio.run(_play(bundle, sessions))


async def _play(bundle: PolicyBundle, sessions: Sequence[CorpusSession]) -> tuple[PlayedCall, ...]:
    engine = EmbeddedEngine(bundle, _ONE_WORKER)
    await engine.start()
    player = _Player(engine, bundle)
    try:
        return tuple([played for session in sessions for played in await player.session(session)])
    finally:
        await engine.close()


class _Player:
    """Plays sessions on an engine that has started."""

    def __init__(self, engine: EmbeddedEngine, bundle: PolicyBundle) -> None:
        self._engine = engine
        self._bundle = bundle

    async def session(self, session: CorpusSession) -> list[PlayedCall]:
        """Every call of a session, one after the other."""
        past = _Past(session.file.begins.timestamp())
        played = []
        for number, call in enumerate(session.file.calls, 1):
            past.now += call.after_s
            steps = await self._through(session, call, past)
            decisions = [decision for _, decision in steps]
            asked = tuple(one for one, _ in steps)
            _remember(past, session.tools[call.tool], decisions)
            outcome = _outcome([decision.verdict for decision in decisions])
            reasons = _decisive(outcome, decisions).reasons
            wanted = call.wanted_under(self._bundle.profile)
            rules = tuple(sorted({reason.rule for reason in reasons}))
            played.append(PlayedCall(session, number, call, wanted, outcome, rules, asked))
        return played

    async def _through(self, session: CorpusSession, call: SessionCall, past: _Past) -> list[tuple[Asked, Decision]]:
        """Every decision about one call, until it runs or does not."""
        step, steps = _Step(), list[tuple[Asked, Decision]]()
        for _ in range(_MOST_STEPS):
            document = _document(self._bundle.profile, session, call, past, step)
            steps.append(await self._decide(json.dumps(document, ensure_ascii=False).encode()))
            verdict = steps[-1][1].verdict
            if verdict is Verdict.CHECKPOINT and call.harm is Harm.NONE and step.checkpoint is None:
                step = replace(step, checkpoint=_APPROVED)
            elif verdict is Verdict.REFLECT and step.deliverable is None:
                step = replace(step, deliverable=_DELIVERABLE)
            elif verdict is Verdict.PREVIEW and step.kind == "call":
                step = replace(step, kind="apply", checkpoint=None)
            else:
                break
        return steps

    async def _decide(self, document: bytes) -> tuple[Asked, Decision]:
        bundle, answer = self._bundle, b""
        try:
            answer = (await self._engine.evaluate(document)).document
            decision = read_decision(answer, decision_id="", policy=bundle.policy)
        except DecisionError as error:
            revision, profile = bundle.revision, bundle.profile
            decision = denial_for_failure("", error.code, error.message, revision=revision, profile=profile)
        return Asked(document, answer), decision


def _outcome(verdicts: list[Verdict]) -> Outcome:
    if verdicts[-1] in {Verdict.DENY, Verdict.REFLECT, Verdict.PREVIEW}:
        return Outcome.DENIED
    if Verdict.CHECKPOINT in verdicts:
        return Outcome.ASKED
    return Outcome.PREVIEWED if Verdict.PREVIEW in verdicts else Outcome.ALLOWED


def _decisive(outcome: Outcome, decisions: list[Decision]) -> Decision:
    """The decision by which the call was denied or asked about, else the first."""
    wanted = {Outcome.DENIED: Verdict.DENY, Outcome.ASKED: Verdict.CHECKPOINT}.get(outcome)
    return next((one for one in decisions if one.verdict is wanted), decisions[0])


def _document(profile: str, session: CorpusSession, call: SessionCall, past: _Past, step: _Step) -> JsonObject:
    known = json.loads(f"{{{past.facts.policy_part(pending=0, mode='steer')}}}")
    file = session.file
    recent = json.loads(past.lately.seen(call.tool, past.now).json)
    case = CaseFile(
        tool=session.tools[call.tool],
        call=CaseCall(
            input=call.input,
            kind=step.kind,
            checkpoint=step.checkpoint,
            deliverable=step.deliverable,
            intent=file.intent,
            workdir=file.workdir,
            time=rfc3339(past.now),
        ),
        session=CaseSession(labels=file.labels, roots=(file.workdir,), **known),
        principal=file.principal.model_copy(update={"recent": recent}),
        profile=profile,  # type: ignore[arg-type]  # the loader has checked that there is such a profile
        expect=Expected(verdict=Verdict.DENY.value),
    )
    document = document_of(case)
    cast("JsonObject", document["session"]).update(intent=file.intent, age_s=past.now - file.begins.timestamp())
    cast("JsonObject", document["call"]).update(time_unix_s=past.now)
    return document


def _remember(past: _Past, tool: CaseTool, decisions: list[Decision]) -> None:
    """Count a call the way the pipeline does: what is dispatched when it is, everything at its end."""
    last = decisions[-1]
    effect = classify(definition_of(tool)).effect
    can_destroy = effect in {Effect.DESTRUCTIVE, Effect.UNDECLARED}
    ran = last.verdict is Verdict.ALLOW
    past.facts.count_call(tool.name, destructive=can_destroy, status="completed" if ran else "denied")
    if not ran:
        by_person = last.verdict is Verdict.CHECKPOINT
        past.facts.count_denial("checkpoint_denied" if by_person else last.reasons[0].code)
        return
    destroys = can_destroy and not last.harmless
    if effect is not Effect.READ_ONLY:
        past.facts.count_dispatch(destructive=destroys)
    past.lately.count(tool.name, past.now, destructive=destroys)
    past.facts.remember(tool.name, effect, {}, past.now)
    past.facts.taints.update(last.obligations.taint)
