"""Calls that wait for people, over MCP: asked at the client where the operator lets that count, waited for, picked up.

A client of MCP knows no call ids and gives up after a minute or so. So a call never hangs on one request: its
checkpoint stays open (`DETACH`), the request is held for a while, and the same call again goes on with what waits.
Whoever answers at the client is on the agent's wire; it counts as a person's answer only where `mcp.people` says so,
and goes through the desk like any other.
"""

import asyncio
import contextlib
import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.at_clients import CHANNEL
from interlock_gateway.approvals.handlers import is_asked
from interlock_gateway.core.call import CallRequest, CallResult, CallState, CallStatus, CheckpointMode
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.core.content import Text
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.call_records import CallRecords
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.providers.port import EventSink
from interlock_gateway.transport.mcp import waiting_words
from interlock_gateway.transport.mcp.approval_form import Verdict, answer_in, question
from interlock_gateway.transport.mcp.clients import Client
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.mcp.relays import ByRequest, Relays
from interlock_gateway.transport.mcp.request_state import KEY_NAME, AskedFor, RequestStateError, Round, Seal, new_round
from interlock_gateway.transport.mcp.rounds import Rounds, Waiting

LOOK_S = 2.0
"""How often it is looked whether a call that was approved waits once more."""
CHANGED = "Policy has changed since it was asked about, so it has to be decided anew."
QUESTION = "approval"
"""The key of our question among those of a request."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskFirst:
    """The answer of a request whose client is to ask a person, and to send the request again with what they said."""

    questions: dict[str, Any]
    state: str

    def result(self) -> dict[str, Any]:
        """As it is answered."""
        return {"resultType": "input_required", "inputRequests": self.questions, "requestState": self.state}


class CheckpointCalls:
    """Makes calls, and sees those through that wait for people."""

    def __init__(self, parts: SurfaceParts, relays: Relays) -> None:
        self._pipeline = parts.pipeline
        self._records = CallRecords(parts.parts, parts.pipeline)
        self._approvals = parts.approvals
        self._store = parts.store
        self._clock = parts.parts.clock
        self._hold_s = parts.config.hold_s
        self._ask_s = parts.config.ask_s
        self._round_s = parts.config.round_s
        self._sealing: Seal | None = None
        self._relays = relays
        self._rounds: Rounds[CallResult | AskFirst] = Rounds(parts.config.round_s)

    async def handle(
        self, principal: Principal, request: CallRequest, client: Client, on_event: EventSink
    ) -> CallResult | AskFirst:
        """One call. Raises `RequestError`, and `MCPError` for a request state that is not good for it."""
        asking = await self._opened(principal, request, client.state) if client.state is not None else None
        if asking is not None and not asking.checkpoint_id:
            return await self._gone_on(principal, request, client, asking, on_event)
        server = self._relays.server_of(request.tool, principal.id)
        if server is None:
            return await self._handled(principal, request, client, on_event, asking)
        if not client.carries_rounds or not server.asks:
            with self._relays.behind(request.session_id, client, ByRequest(client, self._ask_s)):
                return await self._handled(principal, request, client, on_event, asking)

        async def work(waiting: Waiting[CallResult | AskFirst]) -> CallResult | AskFirst:
            with self._relays.behind(request.session_id, client, waiting):
                return await self._handled(principal, request, client, waiting.tell, asking)

        later = self._later()
        return await self._questions(principal, request, later, await self._rounds.begin(work, on_event, later.number))

    def _later(self) -> Round:
        return new_round(self._clock.now() + self._round_s)

    async def _gone_on(
        self, principal: Principal, request: CallRequest, client: Client, asking: Round, on_event: EventSink
    ) -> CallResult | AskFirst:
        """Go on with a call that waits here for what an upstream server has asked."""
        later = self._later()
        try:
            answer = await self._rounds.go_on(asking.number, client.answers, on_event, later.number)
        except KeyError:
            raise _refused("its call does not wait here") from None
        return await self._questions(principal, request, later, answer)

    async def _questions(
        self, principal: Principal, request: CallRequest, later: Round, answer: CallResult | AskFirst | dict[str, Any]
    ) -> CallResult | AskFirst:
        if isinstance(answer, CallResult | AskFirst):
            return answer
        return AskFirst(answer, (await self._seal()).seal(later, _bound(principal, request)))

    async def _handled(
        self, principal: Principal, request: CallRequest, client: Client, on_event: EventSink, asking: Round | None
    ) -> CallResult | AskFirst:
        person = self._approvals.people.of(principal.id) if client.elicits else None
        # All the while: policy may ask once more when an approval is redeemed.
        with self._approvals.people.present(principal.id) if person is not None else nullcontext():
            if asking is not None:
                return await self._answered(_Asked(principal, person, asking), request, client, on_event)
            return await self._made(principal, person, request, client, on_event)

    async def _made(
        self, principal: Principal, person: Principal | None, request: CallRequest, client: Client, on_event: EventSink
    ) -> CallResult | AskFirst:
        assert request.checkpoint_mode is CheckpointMode.DETACH, "no call over MCP is held open"
        result = await self._pipeline.handle(principal, request, on_event)
        if result.status is not CallStatus.AWAITING_CHECKPOINT:
            return result
        checkpoint = await self._checkpoint(request.session_id, result.call_id)
        if checkpoint is None:
            return result
        here = _Call(principal, request, result, checkpoint, on_event)
        if person is None or not is_asked(person, checkpoint):
            return await self._held(here, self._hold_s)
        if client.carries_rounds:
            return await self._question(here)
        return await self._asked(here, person, client)

    async def _checkpoint(self, session_id: str, call_id: str) -> Checkpoint | None:
        return await self._store.checkpoints.checkpoint_of_call(session_id, call_id)

    async def _seal(self) -> Seal:
        if self._sealing is None:
            self._sealing = Seal(await self._store.keys.key(KEY_NAME), self._clock)
        return self._sealing

    # -- waiting --

    async def _held(self, call: "_Call", wait_s: float) -> CallResult:
        """The call's outcome, or, after `wait_s` seconds, that it waits and how to go on."""
        try:
            known = await self._records.wait(
                call.principal,
                call.request.session_id,
                call.result.call_id,
                wait_s,
                on_event=call.on_event,
                trace=call.request.trace,
            )
        except RequestError as error:
            if error.fault is not RequestFault.OVERLOADED:
                raise
            return await self._waiting(call)  # too many are held open: this one is asked for again
        if known.result is not None and known.settled:
            return known.result
        if known.state is CallState.DISPATCHING:
            # It runs by leave that was given: nobody has to decide any more, and it is not to be made again.
            return await self._held(call, wait_s)
        return await self._waiting(call)

    async def _waiting(self, call: "_Call", note: str = "") -> CallResult:
        checkpoint = await self._checkpoint(call.request.session_id, call.result.call_id) or call.checkpoint
        if checkpoint.checkpoint_id != call.checkpoint.checkpoint_id:
            note = CHANGED
        words = waiting_words.words_for(checkpoint, self._clock.now(), note)
        return replace(call.result, content=(Text(words),), steering=())

    # -- asking at the client, with a request to it --

    async def _asked(self, call: "_Call", person: Principal, client: Client) -> CallResult:
        """Ask the person, and wait for whoever decides first, they or somebody elsewhere."""
        outcome = asyncio.create_task(self._held(call, self._ask_s))
        asking = asyncio.create_task(self._ask(call, person, client))
        try:
            await asyncio.wait((outcome, asking), return_when=asyncio.FIRST_COMPLETED)
            if outcome.done():
                return await outcome
            await asking
            while not outcome.done():
                after = await self._checkpoint(call.request.session_id, call.result.call_id)
                if after is not None and after.state is CheckpointState.OPEN:
                    # Theirs was not enough, or policy asks anew, of what has changed meanwhile.
                    return await self._waiting(call, _note(after, person))
                await asyncio.wait((outcome,), timeout=LOOK_S)
            return await outcome
        finally:
            await _ended(asking)
            await _ended(outcome)

    async def _ask(self, call: "_Call", person: Principal, client: Client) -> None:
        """Have the person say something, if they will; what they say is told to the desk."""
        params = question(call.checkpoint, self._clock.now())
        try:
            said = await client.request("elicitation/create", params, self._ask_s)
        except (MCPError, ValidationError) as error:
            # It cannot after all, takes too long, has gone or answers nonsense: nothing was decided.
            about = {"session_id": call.request.session_id, "call_id": call.result.call_id, "problem": str(error)}
            _log.info("the person at a client was not asked", extra=about)
            return
        verdict = answer_in(said, call.checkpoint)
        if verdict is not None:
            await self._decided(person, call.checkpoint.checkpoint_id, call.checkpoint.digest, verdict)

    async def _decided(self, person: Principal, checkpoint_id: str, digest: str, verdict: Verdict) -> None:
        """Have it count, if it does: where others have decided already, their outcome is the call's."""
        said = Said(checkpoint_id, verdict.decision, verdict.reason, call_digest=digest, channel=CHANNEL)
        try:
            await self._approvals.desk.decide(person, said)
        except RequestError as error:
            about = {"checkpoint_id": checkpoint_id, "approver": person.id, "problem": error.message}
            _log.info("an answer at a client did not count", extra=about)

    # -- asking at the client, by its own request --

    async def _question(self, call: "_Call") -> AskFirst:
        checkpoint = call.checkpoint
        asking = new_round(checkpoint.expires_at, checkpoint.checkpoint_id, checkpoint.call_id, checkpoint.digest)
        params = {"mode": "form", **question(checkpoint, self._clock.now())}
        state = (await self._seal()).seal(asking, _bound(call.principal, call.request))
        return AskFirst({QUESTION: {"method": "elicitation/create", "params": params}}, state)

    async def _answered(self, asked: "_Asked", request: CallRequest, client: Client, on_event: EventSink) -> CallResult:
        """Go on with the call that the state names, with what the client says a person said."""
        principal, person, asking = asked.principal, asked.person, asked.asking
        if person is None:
            raise _refused("nobody sits at this client any more who may answer")
        if not await self._store.approvals.first_use(asking.use, asking.expires_at):
            raise _refused("it was used before")
        checkpoint = await self._store.checkpoints.get_checkpoint(asking.checkpoint_id)
        if checkpoint is None or checkpoint.digest != asking.call_digest:
            raise _refused("its checkpoint is not there")
        verdict = answer_in(client.answers.get(QUESTION, {}), checkpoint)
        if verdict is not None:
            try:
                await self._decided(person, checkpoint.checkpoint_id, asking.call_digest, verdict)
            except StateError:
                await self._store.approvals.give_back_use(asking.use)
                raise
        result = CallResult(checkpoint.call_id, CallStatus.AWAITING_CHECKPOINT, decision=checkpoint.decision)
        call = _Call(principal, request, result, checkpoint, on_event)
        after = await self._checkpoint(request.session_id, checkpoint.call_id)
        if after is not None and after.state is CheckpointState.OPEN:
            return await self._waiting(call, _note(after, person))
        return await self._held(call, self._hold_s)

    async def _opened(self, principal: Principal, request: CallRequest, state: str) -> Round:
        try:
            return (await self._seal()).open(state, _bound(principal, request))
        except RequestStateError as error:
            raise _refused(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who was asked what: the person at the client of `principal`, if anybody sits there."""

    principal: Principal
    person: Principal | None
    asking: Round


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that waits: who makes it, what was asked and answered, and the checkpoint that holds it."""

    principal: Principal
    request: CallRequest
    result: CallResult
    checkpoint: Checkpoint
    on_event: EventSink


def _bound(principal: Principal, request: CallRequest) -> AskedFor:
    return AskedFor(principal.id, request.session_id, request.tool, request.input)


def _refused(why: str) -> MCPError:
    """What every state that is not good for its request is answered with; why is for the log alone."""
    _log.warning("a request state was refused", extra={"problem": why})
    return MCPError(INVALID_PARAMS, "Invalid or expired requestState", {"reason": "invalid_request_state"})


def _note(now: Checkpoint, person: Principal) -> str:
    """What became of asking the person, when the call waits after it."""
    if any(answer.approver == person.id for answer in now.answers):
        return f"{len(now.approvals)} of {now.quorum} people have approved it."
    return "The person at the client was asked and has not decided."


async def _ended(task: "asyncio.Task[Any]") -> None:
    """End a task that nobody waits for any more; what it raises was told already, or is for nobody."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, RequestError, StateError):
        await task
