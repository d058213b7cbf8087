"""Calls for another gateway: decided before they are sent, and seen through to their results (PIPE-1, EXT-1)."""

import asyncio
import logging
import secrets
from dataclasses import replace
from typing import Any

from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.session import Session
from interlock_gateway.errors import OutcomeUnknownError, RequestError, RequestFault
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.mcp.contents import claims_ours, result_outcome, whole_outcome, without_ours
from interlock_gateway.transport.extmcp.answers import Code, mutated, not_sent, passed, refusal
from interlock_gateway.transport.extmcp.asked import CALL, content_call, tool_call
from interlock_gateway.transport.extmcp.asker import CALL as NUMBER
from interlock_gateway.transport.extmcp.asker import Asker
from interlock_gateway.transport.extmcp.proxied import ASKED_ABOUT, OpenCall
from interlock_gateway.transport.extmcp.reading import read_result
from interlock_gateway.transport.extmcp.services import Services
from interlock_gateway.transport.extmcp.stubs import ext_mcp_pb2 as pb
from interlock_gateway.transport.mcp.requests import encoded

NEVER_DEFERRED = 1_000_000
"""Sessions behind another gateway have no way to ask for tools that are not listed."""
DECIDE_S = 8.0
"""How long a call may wait to be decided. agentgateway gives each question ten seconds, and one that is told to go on
when its question fails must not go on because of that."""
BUSY = "the call was not sent: an earlier one of this session has no result yet, or there is too much to do"
NO_CALL = "it does not say which call it is of: the metadata has no interlock_call"
TOO_LARGE = "What was read is too large to be passed on."
LATE = "its time was over before it came, or it came twice"
_log = logging.getLogger(__name__)


class Calls:
    """Calls that are decided about, or were let through and have no result yet."""

    def __init__(self, config: ExtMcpConfig, parts: Parts, pipeline: CallPipeline, services: Services) -> None:
        self._config = config
        self._parts = parts
        self._pipeline = pipeline
        self._services = services
        self._open: dict[str, tuple[OpenCall, asyncio.Task[CallResult]]] = {}
        self._none = asyncio.Event()
        self._none.set()

    async def none(self) -> None:
        """Return when no call waits for its result."""
        await self._none.wait()

    async def session(self, asker: Asker) -> Session:
        """The session of a request, opened by the first. Raises `RequestError`."""
        wanted = Session(asker.session_id, asker.principal.id, 0.0, deferred_threshold=NEVER_DEFERRED)
        return (await self._parts.sessions.open(asker.principal, wanted)).session

    async def request(self, asker: Asker, service: str, method: str, params: dict[str, Any]) -> pb.McpRequestResult:
        """Decide about a call, and let it through, or not."""
        provider = self._services.named(asker.principal.id, service).connection.spec.name
        await self.session(asker)
        asked = tool_call(service, params) if method == CALL else content_call(provider, method, params)
        request = replace(asked.request, session_id=asker.session_id)
        found = self._parts.registry.find(request.tool, asker.principal.id)
        if found is not None and found.provider != provider:
            # Names may have slashes: `a` with `b/c` is called as `a/b` with `c` is, or as a tool of ours.
            raise RequestError(RequestFault.INVALID_FIELD, f"{service} has no such tool here: another has its name")
        number = secrets.token_hex(16)
        call = OpenCall(number, asker.principal.id, asker.session_id, provider, method, request.tool)
        task = self._begun(call, asker, request)
        try:
            await asyncio.wait((task, call.let_through), timeout=DECIDE_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            undecided = not task.done() and not call.let_through.done()
            if undecided:
                task.cancel()  # it is not sent then, even if its intent is in the journal already
        if undecided:
            raise RequestError(RequestFault.OVERLOADED, BUSY)
        if not call.let_through.done():
            return pb.McpRequestResult(error=await _ended(task, call))
        sent = call.let_through.result()
        answer = passed(pb.McpRequestResult()) if sent == asked.given else None
        answer = answer or pb.McpRequestResult(mutated=asked.with_input(sent))
        answer.metadata[NUMBER] = number
        return answer

    async def response(self, asker: Asker, service: str, method: str, raw: bytes) -> pb.McpResponseResult:
        """Take in a result, and say what becomes of it."""
        provider = self._services.named(asker.principal.id, service).connection.spec.name
        call, task = self._found(asker, provider, method)
        try:
            given = read_result(raw)
            outcome = result_outcome(given, service) if method == CALL else whole_outcome(given)
        except ValueError as error:
            _fail(call, f"the result cannot be read: {error}")
        except OutcomeUnknownError as error:
            _fail(call, error.message)
        else:
            if given.get("resultType", "complete") != "complete":
                _fail(call, "the MCP server asks for more before it answers, which is not passed on")
                return pb.McpResponseResult(error=await _ended(task, call))
            call.outcome.set_result(outcome)
            return await _processed(task, outcome, given, whole=method != CALL)
        return pb.McpResponseResult(error=await _ended(task, call))

    def _begun(self, call: OpenCall, asker: Asker, request: CallRequest) -> "asyncio.Task[CallResult]":
        token = ASKED_ABOUT.set(call)
        try:
            task = asyncio.get_running_loop().create_task(self._pipeline.handle(asker.principal, request))
        finally:
            ASKED_ABOUT.reset(token)
        self._open[call.number] = call, task
        self._none.clear()

        def over(_task: object) -> None:
            del self._open[call.number]
            if not self._open:
                self._none.set()
            if not task.cancelled():
                task.exception()  # nobody may be waiting any more

        task.add_done_callback(over)
        return task

    def _found(self, asker: Asker, provider: str, method: str) -> "tuple[OpenCall, asyncio.Task[CallResult]]":
        """The call that a result names. Raises `RequestError`.

        It has to name one: what looks like the answer to the only call under way may be that of one whose time is over.
        """
        found = self._open.get(asker.call)
        if found is not None and found[0].awaits(asker.principal.id, asker.session_id, provider, method):
            return found
        if not asker.call:
            _log.warning("a result does not say which call it is of", extra={"provider": provider})
        words = LATE if asker.call else NO_CALL
        raise RequestError(RequestFault.INVALID_FIELD, f"The result was not let through: {words}.")


def _fail(call: OpenCall, words: str) -> None:
    call.outcome.set_exception(OutcomeUnknownError(words))


async def _ended(task: "asyncio.Task[CallResult]", call: OpenCall) -> pb.AuthorizationError:
    """Why it was not let through. Raises what the call raised."""
    return not_sent(await asyncio.shield(task), reads=call.method != CALL)


async def _processed(
    task: "asyncio.Task[CallResult]", outcome: ToolOutcome, given: dict[str, Any], *, whole: bool
) -> pb.McpResponseResult:
    result = await asyncio.shield(task)
    if result.status is not CallStatus.COMPLETED:
        return pb.McpResponseResult(error=not_sent(result, reads=whole))
    untouched = (
        not claims_ours(given)
        and result.content == outcome.content
        and (result.has_data, result.data) == (outcome.has_data, outcome.data)
        and not (result.truncated or result.redactions or result.steering)
        and result.is_error == outcome.is_error
    )
    if untouched:
        return passed(pb.McpResponseResult())
    if not whole:
        return pb.McpResponseResult(mutated=mutated(result, without_ours(given)))
    if not isinstance(result.data, dict):
        return pb.McpResponseResult(error=refusal(Code.PERMISSION_DENIED, TOO_LARGE))
    kind = {key: value for key, value in given.items() if key == "resultType"}
    return pb.McpResponseResult(mutated=encoded({**kind, **result.data}))
