"""Plays sessions call by call: what policy decides about each, with what the session has done until then."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, cast

from interlock_gateway.core.decision import DecisionError
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.core.tool import Effect, classify
from interlock_gateway.pipeline.policy_input import rfc3339
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
class PlayedCall:
    """One call of a session, counted from 1, and what became of it; `rules` are those that decided it."""

    session: CorpusSession
    number: int
    call: SessionCall
    wanted: Wanted
    outcome: Outcome
    rules: tuple[str, ...]
    codes: tuple[str, ...]

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
    """What a session has done, changed in place as it is played."""

    now: float
    facts: SessionFacts = field(default_factory=SessionFacts)


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
    try:
        return tuple([played for session in sessions for played in await _play_session(engine, bundle, session)])
    finally:
        await engine.close()


async def _play_session(engine: EmbeddedEngine, bundle: PolicyBundle, session: CorpusSession) -> list[PlayedCall]:
    past = _Past(session.file.begins.timestamp())
    played = []
    for number, call in enumerate(session.file.calls, 1):
        past.now += call.after_s
        outcome, decisions = await _through(engine, bundle, session, call, past)
        decisive = _decisive(outcome, decisions)
        reasons = decisive.get("reasons", [])
        _remember(past, session.tools[call.tool], outcome, decisions)
        played.append(
            PlayedCall(
                session=session,
                number=number,
                call=call,
                wanted=call.wanted_under(bundle.profile),
                outcome=outcome,
                rules=tuple(sorted({reason["rule"] for reason in reasons})),
                codes=tuple(sorted({reason["code"] for reason in reasons})),
            )
        )
    return played


async def _through(
    engine: EmbeddedEngine, bundle: PolicyBundle, session: CorpusSession, call: SessionCall, past: _Past
) -> tuple[Outcome, list[dict[str, Any]]]:
    """What becomes of one call, and every decision about it until it ran or did not."""
    step, decisions = _Step(), list[dict[str, Any]]()
    for _ in range(_MOST_STEPS):
        decision = await _decide(engine, _document(bundle, session, call, past, step))
        decisions.append(decision)
        verdict = decision["verdict"]
        if verdict == "checkpoint" and call.harm is Harm.NONE and step.checkpoint is None:
            step = _Step(step.kind, _APPROVED, step.deliverable)
        elif verdict == "reflect" and step.deliverable is None:
            step = _Step(step.kind, step.checkpoint, _DELIVERABLE)
        elif verdict == "preview" and step.kind == "call":
            step = _Step("apply", None, step.deliverable)
        else:
            break
    return _outcome([decision["verdict"] for decision in decisions]), decisions


def _outcome(verdicts: list[str]) -> Outcome:
    if "deny" in verdicts or verdicts[-1] in {"reflect", "preview"}:
        return Outcome.DENIED
    if "checkpoint" in verdicts:
        return Outcome.ASKED
    return Outcome.PREVIEWED if "preview" in verdicts else Outcome.ALLOWED


def _decisive(outcome: Outcome, decisions: list[dict[str, Any]]) -> dict[str, Any]:
    """The decision by which the call was stopped or asked about, else the first."""
    wanted = {Outcome.DENIED: "deny", Outcome.ASKED: "checkpoint"}.get(outcome)
    return next((one for one in decisions if one["verdict"] == wanted), decisions[0])


async def _decide(engine: EmbeddedEngine, document: JsonObject) -> dict[str, Any]:
    try:
        answer = await engine.evaluate(json.dumps(document, ensure_ascii=False).encode())
    except DecisionError as error:
        reason = {"code": f"gateway_error.{error.code}", "message": error.message, "rule": ""}
        return {"verdict": "deny", "reasons": [reason]}
    decision: dict[str, Any] = json.loads(answer.document)
    return decision


def _document(bundle: PolicyBundle, session: CorpusSession, call: SessionCall, past: _Past, step: _Step) -> JsonObject:
    known = json.loads(f"{{{past.facts.policy_part(pending=0, mode='steer')}}}")
    file = session.file
    case = CaseFile(
        tool=session.tools[call.tool],
        call=CaseCall(
            input=call.input,
            kind=step.kind,
            checkpoint=step.checkpoint,
            deliverable=step.deliverable,
            intent=file.intent,
            workdir=file.workdir,
        ),
        session=CaseSession(labels=file.labels, roots=(file.workdir,), **known),
        principal=file.principal,
        profile=bundle.profile,  # type: ignore[arg-type]  # the loader has checked that there is such a profile
        expect=Expected(verdict="deny"),
    )
    document = document_of(case)
    cast("JsonObject", document["session"]).update(intent=file.intent, age_s=past.now - file.begins.timestamp())
    cast("JsonObject", document["call"]).update(time=rfc3339(past.now), time_unix_s=past.now)
    return document


def _remember(past: _Past, tool: CaseTool, outcome: Outcome, decisions: list[dict[str, Any]]) -> None:
    """Count a call the way the pipeline's conclusion does."""
    effect = classify(definition_of(tool)).effect
    destructive = effect in {Effect.DESTRUCTIVE, Effect.UNDECLARED}
    ran = decisions[-1]["verdict"] == "allow"
    past.facts.count_call(tool.name, destructive=destructive, status="completed" if ran else "denied")
    if ran:
        past.facts.remember(tool.name, effect, {}, past.now)
        past.facts.taints.update(decisions[-1].get("obligations", {}).get("taint", ()))
        return
    reasons = decisions[-1].get("reasons", [])
    refused = reasons[0]["code"] if outcome is Outcome.DENIED and reasons else "checkpoint_denied"
    past.facts.count_denial(refused)
