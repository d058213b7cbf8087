"""A gateway in trouble: calls of four classes, what really ran of them, and what they were answered (REL-1)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pytest
from broken_opa import BrokenOpa
from gateway_bench import Bench, Ledger
from interlock import CallStatus
from interlock.errors import RequestError
from interlock.provider import Tool, tool
from interlock_gateway.config import ToolOverride
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from waiting import eventually_so

READ = "look"
CLASSES = (READ, "put", "wreck", "undeclared")
"""Read-only, mutating, destructive, and one that declares nothing: a tool of each."""
EACH = 50
DEADLINE_S = 30.0
"""Of each call: the SDK raises when it has no answer by then, which fails the test."""
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
    """What a call of a class was answered; `code` is that of the first reason, or of the error in an answer's place."""

    name: str
    status: CallStatus
    code: str


@dataclass
class Scene:
    """A gateway, and whatever a fault needs besides."""

    at: Bench
    patched: pytest.MonkeyPatch
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
        async with asyncio.timeout(2 * DEADLINE_S):
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
        try:
            result = await self.at.agent.session(session).call(name, {"text": text}, timeout=deadline_s)
        except RequestError as error:
            return Answer(name, CallStatus.UNKNOWN, error.reason)
        code = result.decision.reasons[0].code if result.decision.reasons else ""
        return Answer(name, result.status, code)


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

    def accepts(self, answer: Answer) -> bool:
        """Whether a call that did not run may be told this."""
        code = answer.code
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
