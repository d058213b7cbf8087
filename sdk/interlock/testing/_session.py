"""One session of a fake gateway: what the specification says about calls, the stack and the journal, scripted."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc

from interlock._decode import call_result
from interlock.calls import Deliverable
from interlock.provider._provider import RequestFailed
from interlock.provider._values import StateChangedError, ToolError, ToolResult
from interlock.testing import _answers as answers
from interlock.testing._scripts import (
    Allow,
    Answer,
    Checkpoint,
    Deny,
    Fail,
    OutcomeUnknown,
    Preview,
    RecordedCall,
    Reflect,
    RpcFailure,
)
from interlock.v1 import (
    call_pb2,
    checkpoint_pb2,
    deliverable_pb2,
    error_reason_pb2,
    operation_pb2,
    pending_pb2,
)

Script = Callable[[str], Answer | None]

_VERDICT_WORDS = {
    deliverable_pb2.DELIVERABLE_VERDICT_PROCEED: "proceed",
    deliverable_pb2.DELIVERABLE_VERDICT_REVISE: "revise",
    deliverable_pb2.DELIVERABLE_VERDICT_ABORT: "abort",
}


class RpcFailed(Exception):  # noqa: N818 -- an answer that was scripted
    """A scripted gRPC error."""

    def __init__(self, failure: RpcFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class Waiting:
    """A call that a person decides."""

    call: call_pb2.ToolCall
    script: Checkpoint
    decision: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Previewed:
    """A pending action, what applying it answers, and the input that was previewed."""

    pending: pending_pb2.PendingAction
    script: Preview
    input: dict[str, Any]


@dataclass(slots=True)
class FakeSession:
    """What a fake gateway remembers of a session; the caller holds `lock`."""

    session_id: str
    script: Script
    record: Callable[[RecordedCall], None]
    lock: threading.Condition
    opened: Any = None
    closed: bool = False
    stack: list[Previewed] = field(default_factory=list)
    journal: list[operation_pb2.Operation] = field(default_factory=list)
    settled: dict[str, tuple[bytes, call_pb2.CallResult]] = field(default_factory=dict)
    waiting: dict[str, Waiting] = field(default_factory=dict)

    def call(self, asked: call_pb2.ToolCall, patience: float) -> call_pb2.CallResult:
        """Take one call; the same id answers the first outcome. `patience` is how long to wait for a person."""
        seen = self.settled.get(asked.call_id)
        if seen is not None:
            if seen[0] != asked.input:
                raise RequestFailed(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    "the call id was used with another input",
                    error_reason_pb2.ERROR_REASON_CALL_ID_REUSED,
                )
            return seen[1]
        try:
            given = json.loads(asked.input or b"{}")
        except (RecursionError, ValueError) as error:
            return self._done(asked, {}, _denied(asked.call_id, f"input is not JSON: {error}", "invalid_input"))
        result = self._answer(asked, given, self._script_for(asked), patience)
        if result.status == call_pb2.CALL_STATUS_AWAITING_CHECKPOINT:
            return result
        return self._done(asked, given, result)

    def resolve(self, call_id: str, action: str, reason: str, extra: bytes, pending_id: str) -> call_pb2.CallResult:
        """Apply or discard the top pending action (PREV-2 to PREV-9)."""
        seen = self.settled.get(call_id)
        if seen is not None:
            return seen[1]
        given = {"action": action, "reason": reason, **({"extra": json.loads(extra)} if extra else {})}
        asked = call_pb2.ToolCall(session_id=self.session_id, call_id=call_id, tool="resolve")
        return self._done(asked, given, self._resolved(asked, given, extra, pending_id))

    def decide(self, call_id: str, decision: str, reason: str) -> None:
        """Decide a waiting call, as an approver would."""
        self.waiting[call_id].decision = decision
        self.waiting[call_id].reason = reason
        self.lock.notify_all()

    def settle(self, call_id: str, patience: float) -> call_pb2.CallResult | None:
        """The outcome of a call, waiting for it; None when it is still open, KeyError when it was never seen."""
        waiting = self.waiting.get(call_id)
        if waiting is not None:
            self.lock.wait_for(lambda: waiting.decision != "wait", patience)
        if call_id in self.settled:
            return self.settled[call_id][1]
        asked = self.waiting[call_id].call
        given = json.loads(asked.input or b"{}")
        result = self._decided(asked, given, 0.0)
        return None if result is None else self._done(asked, given, result)

    def _script_for(self, asked: call_pb2.ToolCall) -> Answer | None:
        if asked.call_id in self.waiting:
            return self.waiting[asked.call_id].script
        return self.script(asked.tool)

    def _answer(
        self, asked: call_pb2.ToolCall, given: dict[str, Any], script: Answer | None, patience: float
    ) -> call_pb2.CallResult:
        match script:
            case None:
                return self._unscripted(asked, given)
            case Allow():
                return self._run(asked, given, script)
            case Preview():
                return self._preview(asked, given, script)
            case Checkpoint():
                return self._checkpoint(asked, given, script, patience)
            case Reflect():
                return self._reflect(asked, given, script, patience)
            case RpcFailure():
                raise RpcFailed(script)
        made = _not_run(asked.call_id, script)
        if isinstance(script, OutcomeUnknown):
            self._journal(asked, made, operation_pb2.OPERATION_STATE_OUTCOME_UNKNOWN)
        return made

    def _run(self, asked: call_pb2.ToolCall, given: dict[str, Any], script: Allow) -> call_pb2.CallResult:
        try:
            returned = script.result(given) if callable(script.result) else script.result
        except (ToolError, StateChangedError) as error:
            returned = ToolResult(content=str(error), is_error=True)
        made, result = answers.ran(asked.call_id, returned)
        if result.undo is not None:
            self._journal(asked, made)
        return made

    def _journal(
        self,
        asked: call_pb2.ToolCall,
        made: call_pb2.CallResult,
        state: operation_pb2.OperationState = operation_pb2.OPERATION_STATE_DONE,
    ) -> None:
        operation = operation_pb2.Operation(
            operation_id=f"operation-{len(self.journal) + 1}",
            sequence=len(self.journal) + 1,
            session_id=self.session_id,
            call_id=asked.call_id,
            tool=asked.tool,
            provider="fake",
            state=state,
            undo=made.undo if made.HasField("undo") else None,
        )
        self.journal.append(operation)

    def _preview(self, asked: call_pb2.ToolCall, given: dict[str, Any], script: Preview) -> call_pb2.CallResult:
        pending = pending_pb2.PendingAction(
            pending_id=f"pending-{asked.call_id}",
            session_id=self.session_id,
            call_id=asked.call_id,
            label=script.label or f"{asked.tool} (previewed)",
            source_tool=asked.tool,
            state=pending_pb2.PENDING_STATE_PENDING,
            preview=pending_pb2.Preview(
                would_affect=script.would_affect,
                preview=script.preview,
                estimated_impact=b""
                if script.estimated_impact is None
                else json.dumps(script.estimated_impact).encode(),
            ),
        )
        self.stack.append(Previewed(pending, script, given))
        return answers.previewed(asked.call_id, script, pending)

    def _reflect(
        self, asked: call_pb2.ToolCall, given: dict[str, Any], script: Reflect, patience: float
    ) -> call_pb2.CallResult:
        if not asked.HasField("deliverable"):
            made = answers.answer(
                asked.call_id, call_pb2.CALL_STATUS_REFLECTION_REQUIRED, script.instructions, code="reflection_required"
            )
            made.reflection.instructions = script.instructions
            return made
        verdict = _VERDICT_WORDS.get(asked.deliverable.verdict, "abort")
        if verdict != "proceed":
            return _denied(asked.call_id, f"the agent's own verdict is {verdict}", f"agent_{verdict}")
        return self._answer(asked, given, script.then, patience)

    def _checkpoint(
        self, asked: call_pb2.ToolCall, given: dict[str, Any], script: Checkpoint, patience: float
    ) -> call_pb2.CallResult:
        if asked.call_id not in self.waiting:
            self.waiting[asked.call_id] = Waiting(asked, script, script.decision, script.reason)
            if asked.checkpoint_mode == checkpoint_pb2.CHECKPOINT_MODE_DETACH:
                return self._awaiting(asked)
        decided = self._decided(asked, given, patience)
        if decided is None:  # with WAIT the checkpoint goes with the call that held it (CHK-4)
            self.decide(asked.call_id, "deny", "the checkpoint was withdrawn: nobody decided in time")
            self.settle(asked.call_id, 0.0)
            raise RpcFailed(
                RpcFailure(grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "nobody decided in time")
            )
        return decided

    def _awaiting(self, asked: call_pb2.ToolCall) -> call_pb2.CallResult:
        made = answers.answer(
            asked.call_id, call_pb2.CALL_STATUS_AWAITING_CHECKPOINT, "A person has to decide.", code="checkpoint"
        )
        made.checkpoint.checkpoint_id = f"checkpoint-{asked.call_id}"
        return made

    def _decided(self, asked: call_pb2.ToolCall, given: dict[str, Any], patience: float) -> call_pb2.CallResult | None:
        waiting = self.waiting[asked.call_id]
        if not self.lock.wait_for(lambda: waiting.decision != "wait", patience):
            return None
        if waiting.decision == "deny":
            return _denied(asked.call_id, waiting.reason, "checkpoint_denied")
        return self._answer(asked, given, waiting.script.then, patience)

    def _unscripted(self, asked: call_pb2.ToolCall, given: Any) -> call_pb2.CallResult:
        """What a tool answers that nothing is said about: `resolve` resolves, as a model calls it (PREV-3)."""
        if asked.tool != answers.RESOLVE.name:
            return _denied(asked.call_id, f"There is no tool named {asked.tool!r} in this session.", "unknown_tool")
        members = given if isinstance(given, dict) else {}
        if members.get("action") not in ("apply", "discard") or not isinstance(members.get("reason"), str):
            return _denied(asked.call_id, "resolve takes an action, apply or discard, and a reason", "invalid_input")
        extra = json.dumps(members["extra"]).encode() if "extra" in members else b""
        return self._resolved(asked, members, extra, str(members.get("pending_id", "")))

    def _resolved(
        self, asked: call_pb2.ToolCall, given: dict[str, Any], extra: bytes, pending_id: str
    ) -> call_pb2.CallResult:
        completed, call_id = call_pb2.CALL_STATUS_COMPLETED, asked.call_id
        if not given["reason"].strip():
            words = "The arguments of resolve are not valid: reason is blank"
            return answers.answer(call_id, completed, words, is_error=True)
        if not self.stack:
            return answers.answer(call_id, completed, answers.NOTHING_PENDING, code="nothing_pending", is_error=True)
        previewed = self.stack[-1]
        top = previewed.pending
        if pending_id and pending_id != top.pending_id:
            words = f"{pending_id} is not the top pending action. The top is {top.pending_id}: {top.label}."
            return answers.answer(call_id, completed, words, code="not_the_top", is_error=True)
        self.stack.pop()
        details = answers.resolution_details(given["action"], given["reason"], extra, top)
        if given["action"] == "discard":
            words = f"Discarded: {top.label}. Reason: {given['reason']}"
            return answers.answer(call_id, completed, words, code="discarded", details=details)
        source = call_pb2.ToolCall(session_id=self.session_id, call_id=call_id, tool=top.source_tool)
        result = self._answer(source, previewed.input, previewed.script.applies, 0.0)
        self._after_apply(result, previewed)
        result.details = json.dumps({**details, **_source_details(result)}).encode()
        return result

    def _after_apply(self, result: call_pb2.CallResult, previewed: Previewed) -> None:
        if result.status == call_pb2.CALL_STATUS_FAILED:
            result.content[0].text.text = f"Apply failed: {result.content[0].text.text}"
        failed = result.status != call_pb2.CALL_STATUS_COMPLETED or result.is_error
        if failed and result.status not in (call_pb2.CALL_STATUS_PREVIEW, call_pb2.CALL_STATUS_OUTCOME_UNKNOWN):
            self.stack.append(previewed)

    def _done(
        self, asked: call_pb2.ToolCall, given: dict[str, Any], result: call_pb2.CallResult
    ) -> call_pb2.CallResult:
        if self.stack and answers.REMINDER not in result.steering:
            result.steering.append(answers.REMINDER)
        if result.status != call_pb2.CALL_STATUS_REFLECTION_REQUIRED:  # the same call comes again, with a deliverable
            self.settled[asked.call_id] = (asked.input, result)
        self.waiting.pop(asked.call_id, None)
        self.record(
            RecordedCall(
                session_id=self.session_id,
                call_id=asked.call_id,
                tool=asked.tool,
                input=given,
                result=call_result(result),
                workdir=asked.workdir,
                intent=asked.intent,
                labels=dict(asked.labels),
                deliverable=_deliverable(asked) if asked.HasField("deliverable") else None,
            )
        )
        return result


def _denied(call_id: str, message: str, code: str) -> call_pb2.CallResult:
    return answers.answer(call_id, call_pb2.CALL_STATUS_DENIED, message, code=code, is_error=True)


def _not_run(call_id: str, script: Deny | Fail | OutcomeUnknown) -> call_pb2.CallResult:
    if isinstance(script, Deny):
        return _denied(call_id, script.message, script.code)
    failed = isinstance(script, Fail)
    status = call_pb2.CALL_STATUS_FAILED if failed else call_pb2.CALL_STATUS_OUTCOME_UNKNOWN
    return answers.answer(call_id, status, script.message, is_error=True)


def _source_details(result: call_pb2.CallResult) -> dict[str, Any]:
    return {"sourceResultDetails": json.loads(result.details)} if result.details else {}


def _deliverable(asked: call_pb2.ToolCall) -> Deliverable:
    given = asked.deliverable
    verdict: Any = _VERDICT_WORDS.get(given.verdict, "abort")
    return Deliverable(
        hidden_assumptions=tuple(given.hidden_assumptions),
        failure_scenarios=tuple(given.failure_scenarios),
        verdict=verdict,
        verdict_reason=given.verdict_reason,
    )
