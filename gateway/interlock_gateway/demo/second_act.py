"""The demonstration's second act: people, doubt, several calls at once, and taking everything back."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from interlock import Call, CallResult, Deliverable, Gateway, InterlockError
from interlock.admin import Approvals
from interlock.v1.approval_service_pb2 import CheckpointEvent
from interlock.v1.checkpoint_pb2 import Checkpoint

from interlock_gateway.demo.agent import Agent
from interlock_gateway.demo.screen import Screen
from interlock_gateway.demo.stage import Stage

_NEWS = (CheckpointEvent.CHECKPOINT_EVENT_ALREADY_OPEN, CheckpointEvent.CHECKPOINT_EVENT_OPENED)


class SecondAct:
    """The scenes in which the agent is not alone, on the same stage and in the same session."""

    def __init__(self, stage: Stage, agent: Agent, screen: Screen) -> None:
        self._stage = stage
        self._agent = agent
        self._screen = screen

    async def play(self, as_it_was: str) -> None:
        """All of them; `as_it_was` is the workspace's digest from before the first act."""
        await self._nobody_to_ask()
        await self._checkpoint()
        await self._reverse_thinking()
        await self._batch()
        await self._rollback(as_it_was)

    async def _nobody_to_ask(self) -> None:
        self._screen.scene("It wants to deploy. That needs a person, and nobody is there: the answer is no.")
        await self._agent.call("deploy", service="shop", version="1.5.0")

    async def _checkpoint(self) -> None:
        screen = self._screen
        screen.scene("An approver watches now, under another identity. The call waits until the person has decided.")
        async with self._person_watching():
            await self._agent.call("deploy", service="shop", version="1.5.0")
        screen.say("The approval was for that very call: its digest, once, and for a limited time.")

    @asynccontextmanager
    async def _person_watching(self) -> AsyncIterator[None]:
        """Somebody with an approver's identity, who watches, looks, and approves what was looked at."""
        async with Gateway(self._stage.operator_address) as door:
            watching: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            person = asyncio.create_task(self._approve(Approvals(door), watching))
            try:
                await watching
                yield
            finally:
                person.cancel()
                await asyncio.wait([person])

    async def _approve(self, approvals: Approvals, watching: "asyncio.Future[None]") -> None:
        try:
            async for told in approvals.watch():
                if not watching.done():
                    watching.set_result(None)
                if told.event in _NEWS:
                    seen = await approvals.checkpoint(told.checkpoint.checkpoint_id)
                    self._seen(seen)
                    await approvals.approve(seen.checkpoint_id, "I have read it", call_digest=seen.call_digest)
        except InterlockError as error:
            if watching.done():
                raise
            watching.set_exception(error)

    def _seen(self, checkpoint: Checkpoint) -> None:
        screen = self._screen
        screen.person(f"is asked: {checkpoint.rendered_call}")
        screen.block(f"asked by {checkpoint.requester.id}, for: {checkpoint.intent}")
        screen.block("because: " + "; ".join(reason.message for reason in checkpoint.decision.reasons))
        screen.block(f"before it: {', '.join(f'{past.tool} {past.status}' for past in checkpoint.history[:4])}")
        screen.person("approves")

    async def _reverse_thinking(self) -> None:
        screen = self._screen
        screen.scene("It moves the traffic. This tool wants the agent to argue against itself first.")
        await self._agent.call("route_traffic", service="shop", percent=100)
        doubt = Deliverable(
            hidden_assumptions=["1.5.0 starts as fast as 1.4.1", "the database is migrated"],
            failure_scenarios=["all traffic meets a version that nobody has seen under load"],
            verdict="revise",
            verdict_reason="a tenth of the traffic tells as much",
        )
        await self._agent.think_again("route_traffic", doubt, service="shop", percent=100)
        sure = Deliverable(
            hidden_assumptions=["the new version runs"],
            failure_scenarios=["one customer in ten sees an error until it is moved back"],
            verdict="proceed",
            verdict_reason="it can be taken back in seconds",
        )
        await self._agent.think_again("route_traffic", sure, service="shop", percent=10)

    async def _batch(self) -> None:
        screen = self._screen
        screen.scene("Several calls in one request: reads run side by side, the write runs alone, in its place.")
        calls = [
            Call(tool="read", input={"path": "releases/shop.version"}),
            Call(tool="read", input={"path": "releases/shop.traffic"}),
            Call(tool="write", input={"path": "releases/LOG.md", "content": "1.5.0 gets a tenth of the traffic\n"}),
            Call(tool="list", input={"path": "releases"}),
        ]
        for call, outcome in zip(calls, await self._agent.session.batch(calls), strict=True):
            screen.asks(call.tool, json.dumps(call.input))
            if isinstance(outcome, CallResult):
                self._agent.show(outcome, 4)
        await self._agent.resolve("apply", "keep a log of it")

    async def _rollback(self, as_it_was: str) -> None:
        screen = self._screen
        screen.scene("Take all of it back: every operation of the session, newest first, through the same policies.")
        operations = await self._agent.session.operations()
        screen.say(f"The workspace before {as_it_was}, now {digest(self._stage.workspace)}.")
        screen.say("What needed a person needs one to be taken back, too.")
        async with self._person_watching():
            async for line in self._agent.session.rollback(
                count=len(operations), skip_irreversible=True, reason="the demonstration is over"
            ):
                screen.block(f"{line.operation.tool:<14} {line.outcome.value.replace('_', ' '):<22} {line.message}", 2)
        after = digest(self._stage.workspace)
        same = "as it was before the first act" if after == as_it_was else "NOT as it was"
        screen.say(f"The workspace is {after}: {same}.")
        if after != as_it_was:
            raise AssertionError("the rollback should have left the workspace as it was")


def digest(directory: Path) -> str:
    """A digest over every path, mode, link and content below `directory`."""
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        link = path.is_symlink()
        content = str(path.readlink()).encode() if link else path.read_bytes() if path.is_file() else b""
        mode = path.lstat().st_mode
        whole.update(f"{path.relative_to(directory)}\0{mode:o}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:12]
