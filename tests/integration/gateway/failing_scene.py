"""A gateway in trouble: calls of four classes, what really ran of them, and what they were answered (REL-1)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import grpc
import grpc.aio
import pytest
from broken_opa import BrokenOpa
from gateway_bench import Bench, Ledger
from interlock import CallStatus
from interlock._decode import call_result
from interlock._encode import new_id
from interlock._status import DETAILS_KEY, read_details
from interlock.provider import Tool, tool
from interlock.v1 import call_pb2
from interlock.v1 import gateway_service_pb2 as rpc
from interlock_gateway.config import ToolOverride
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from waiting import eventually_so

READ = "look"
CLASSES = (READ, "put", "wreck", "undeclared")
"""Read-only, mutating, destructive, and one that declares nothing: a tool of each."""
EACH = 50
DEADLINE_S = 30.0
"""What a call carries, when the fault is to be known from its answer."""
SHORT_S = 0.2
"""What a call carries whose deadline passes while a fault lasts."""
PATIENCE_S = 60.0
"""The client's own timer runs so much longer than the deadline that it carries: the answer has to be the gateway's."""
LATE_S = 0.1
"""How long after its deadline a call has to be answered."""
CALL_TOOL = "/interlock.v1.GatewayService/CallTool"
FACTS_OF_ALL = {name: ToolOverride(permission_class="ledger") for name in CLASSES}
ALLOW = '{"verdict": "allow", "reasons": [{"code": "fine", "message": "fine", "rule": "custom/fine"}]}'


def four_tools(ledger: Ledger) -> list[Tool[..., Any]]:
    """One tool of each class; each writes down that it ran."""

    @tool(read_only=True, concurrency_safe=True)
    def look(text: str) -> str:
        """Change nothing."""
        ledger.ran.append(("look", text))
        return text

    @tool(destructive=False, reversible=True)
    def put(text: str) -> str:
        """Change something."""
        ledger.ran.append(("put", text))
        return text

    @tool(destructive=True)
    def wreck(text: str) -> str:
        """Destroy something."""
        ledger.ran.append(("wreck", text))
        return text

    @tool
    def undeclared(text: str) -> str:
        """Declare nothing."""
        ledger.ran.append(("undeclared", text))
        return text

    return [look, put, wreck, undeclared]


def deciding(source: str) -> PolicyBundle:
    """A policy of one module; the package's name is put before it."""
    return make_bundle({"main.rego": f"package interlock\n\n{source}\n"}, {}, profile="standard")


ALLOWING = deciding(f"decision := {ALLOW}")
"""Allows every call, so that nothing but the fault can keep one from running."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of a class was answered; `code` is that of the first reason, or of the error in an answer's place.

    `late_s` is how long after its deadline it was answered, below 0 for one that was answered before it. What a timer
    of this very process, set for that deadline, was late by is taken off: client and gateway share its loop.
    """

    name: str
    status: CallStatus
    code: str
    late_s: float


class Timer:
    """How late this process is with what is due at a time, as far as it is due by now."""

    def __init__(self, seconds: float) -> None:
        self.began = time.monotonic()
        self._due = self.began + seconds
        self._late_s: float | None = None
        self._handle = asyncio.get_running_loop().call_later(seconds, self._rings)

    def _rings(self) -> None:
        self._late_s = time.monotonic() - self._due

    def late_s(self) -> float:
        """How late it is now; below 0 when it is early, and 0 when what rings in this loop is still to ring."""
        self._handle.cancel()
        past_s = time.monotonic() - self._due
        if self._late_s is None:
            return min(past_s, 0.0)
        return past_s - self._late_s


@dataclass
class Scene:
    """A gateway, and whatever a fault needs besides."""

    at: Bench
    patched: pytest.MonkeyPatch
    channel: grpc.aio.Channel
    opa: BrokenOpa | None = None
    trouble: list[str] = field(default_factory=list)

    async def everything_runs(self, text: str) -> None:
        """Call in every session until a call of each class has run, as at a gateway with nothing the matter."""

        async def all_run() -> bool:
            answers = await self.calls(text)
            return all(answer.status is CallStatus.COMPLETED for answer in answers)

        await eventually_so(all_run)
        assert {name for name, said in self.at.ledger.ran if said == text} == set(CLASSES)

    async def calls(self, text: str, each: int = 2, deadline_s: float = DEADLINE_S) -> list[Answer]:
        """`each` calls of every class, in as many sessions, all at once."""
        made = [self._call(f"s{number}", name, text, deadline_s) for number in range(each) for name in CLASSES]
        return list(await asyncio.gather(*made))

    async def opened(self) -> None:
        """Open every session that calls will be made in."""
        await asyncio.gather(*(self._call(f"s{number}", READ, "opens") for number in range(EACH)))

    async def decided_by(self, bundle: PolicyBundle, **bounds: float) -> None:
        """Let the embedded engine decide by another policy; `bounds` are those of its workers."""
        engine = self.at.gateway.rooms.engine
        if bounds:
            # The bench gives them longer than a fault may take here, and the configuration has no bound for waiting.
            settings = vars(engine)["_settings"]
            self.patched.setattr(engine, "_settings", replace(settings, **bounds))
        await engine.replace(bundle)

    async def _call(self, session: str, name: str, text: str, deadline_s: float = DEADLINE_S) -> Answer:
        """Make a call without the SDK, which has a timer for the deadline that it carries, and asks again.

        Raises TimeoutError when the gateway says nothing.
        """
        call = call_pb2.ToolCall(
            session_id=session, call_id=new_id("call"), tool=name, input=json.dumps({"text": text}).encode()
        )
        ask = self.channel.unary_unary(
            CALL_TOOL,
            request_serializer=rpc.CallToolRequest.SerializeToString,
            response_deserializer=rpc.CallToolResponse.FromString,
        )
        timer = Timer(deadline_s)
        try:
            async with asyncio.timeout(deadline_s + PATIENCE_S):
                answer = await ask(
                    rpc.CallToolRequest(call=call), metadata=(("grpc-timeout", f"{round(deadline_s * 1000)}m"),)
                )
        except grpc.aio.AioRpcError as error:
            late_s = timer.late_s()
            trailers = {key: value for key, value in error.trailing_metadata() or () if isinstance(value, bytes)}
            return Answer(name, CallStatus.UNKNOWN, read_details(trailers.get(DETAILS_KEY, b"")).reason, late_s)
        late_s = timer.late_s()
        result = call_result(answer.result)
        code = result.decision.reasons[0].code if result.decision.reasons else ""
        return Answer(name, result.status, code, late_s)


Begins: TypeAlias = Callable[[Scene], AbstractAsyncContextManager[None]]
Setting: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Scene]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: how it begins and ends, and what calls are told meanwhile.

    Every denial has one of `reaches`, which are all seen, or of `also`; or, where a policy still decides, its `said`.
    `reads`: whether what changes nothing may go on. `error`: the reason of an error that may stand in an answer's
    place, when not even what became of a call before can be looked up. The fault lasts as long as the context `begins`.
    """

    name: str
    begins: Begins
    reaches: frozenset[GatewayErrorCode] = frozenset()
    also: frozenset[GatewayErrorCode] = frozenset()
    said: str = ""
    error: str = ""
    reads: bool = False
    setting: str = "embedded"

    def accepts(self, answer: Answer, *, cut_short: bool = False) -> bool:
        """Whether a call that did not run may be told this; `cut_short` says that its deadline may have passed."""
        code = answer.code
        if cut_short and (answer.status, code) == (CallStatus.UNKNOWN, "DEADLINE_EXCEEDED"):
            return True
        if answer.status is not CallStatus.DENIED:
            return answer.status is CallStatus.UNKNOWN and code == self.error != ""
        return code in {f"gateway_error.{one.value}" for one in self.reaches | self.also} or code == self.said != ""


@asynccontextmanager
async def policy_is(scene: Scene, source: str, **bounds: float) -> AsyncIterator[None]:
    """Another policy decides; afterwards all is allowed again."""
    await scene.decided_by(deciding(source), **bounds)
    yield
    await scene.decided_by(ALLOWING)


def policy(source: str, **bounds: float) -> Begins:
    """A policy as a fault."""
    return lambda scene: policy_is(scene, source, **bounds)
