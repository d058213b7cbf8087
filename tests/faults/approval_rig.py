"""Gateways in this process before one provider, with a person who watches: what the attacks on approvals start from."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.provider import DryRunResult, Tool, ToolServer, tool
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig, ProviderConfig, ServerConfig, StateConfig
from interlock_gateway.config_telemetry import MetricsConfig
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointAnswer
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.serving import Gateway
from waiting import eventually

AGENT = Principal("agent", "token", frozenset({Role.AGENT}))
OTHER_AGENT = Principal("other", "token", frozenset({Role.AGENT}))
PERSON = Principal("person", "token", frozenset({Role.APPROVER}))
_APPLIES_ARE_ASKED_ABOUT = """package interlock.custom

findings contains {
	"verdict": "checkpoint",
	"code": "ask",
	"message": "people are asked",
	"rule": "custom/apply",
} if {
	input.call.phase == "apply"
}
"""


@dataclass
class Done:
    """What the provider really did: the argument of every run, by tool."""

    ran: list[tuple[str, str]] = field(default_factory=list)

    def tools(self) -> list[Tool[..., Any]]:
        """Tools that people are asked about."""

        @tool(destructive=True)
        async def wreck(what: str) -> str:
            """Destroy without preview or undo."""
            self.ran.append(("wreck", what))
            return f"{what} is gone"

        @tool(destructive=True)
        async def wreck_too(what: str) -> str:
            """Do the same under another name."""
            self.ran.append(("wreck_too", what))
            return f"{what} is gone"

        @tool(destructive=True)
        async def replace(what: str) -> str:
            """Replace after a preview."""
            self.ran.append(("replace", what))
            return f"replaced {what}"

        @replace.dry_run
        def would(what: str) -> DryRunResult:
            return DryRunResult(preview=f"+ {what}", state_token="same", label=f"replace {what}")

        return [wreck, wreck_too, replace]


@dataclass(frozen=True)
class Rig:
    """One or more gateways on one database."""

    gateways: tuple[Gateway, ...]
    done: Done


@asynccontextmanager
async def approval_rig(directory: Path, *, databases: tuple[str, ...] = ("",)) -> AsyncIterator[Rig]:
    """As many gateways as there are `databases`, each with its own state in `directory`; empty means a file there."""
    done = Done()
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "apply.rego").write_text(_APPLIES_ARE_ASKED_ABOUT)
    async with AsyncExitStack() as stack:
        address = f"unix:{directory}/tools.sock"
        await stack.enter_async_context(ToolServer(done.tools(), address, name="tools", version="1"))
        gateways = []
        for number, database in enumerate(databases):
            config = _config(directory, number, database, address)
            gateway = await stack.enter_async_context(running(config))
            await gateway.providers_settled(10.0)
            stack.push_async_callback(_stopped, await _watching(gateway))
            gateways.append(gateway)
        yield Rig(tuple(gateways), done)


def an_answer(now: float, decision: ApproverDecision = ApproverDecision.APPROVE) -> CheckpointAnswer:
    """What the person says."""
    return CheckpointAnswer(PERSON.id, PERSON.kind, PERSON.groups, decision, "", "grpc", now)


async def approve(gateway: Gateway, session_id: str, call_id: str) -> str:
    """Approve what the call waits for, as the person would; the checkpoint's id."""
    store, now = gateway.rooms.store.checkpoints, gateway.rooms.parts.clock.now()
    checkpoint = await store.checkpoint_of_call(session_id, call_id)
    assert checkpoint is not None
    await store.answer_checkpoint(checkpoint.checkpoint_id, an_answer(now), now)
    return checkpoint.checkpoint_id


def _config(directory: Path, number: int, database: str, address: str) -> Config:
    state: dict[str, Any] = {"database": database} if database else {}
    return Config(
        state=StateConfig(dir=directory / f"state{number}", **state),
        server=ServerConfig(listen=("unix:{state}/agent.sock",), drain_s=5.0),
        metrics=MetricsConfig(listen=""),
        policy=PolicyConfig(timeout_s=10.0, workers=1, overlays=(directory / "overlay",)),
        providers=(ProviderConfig(name="tools", address=address),),
    )


async def _watching(gateway: Gateway) -> "asyncio.Task[None]":
    async def watch() -> None:
        async for _ in gateway.rooms.approvals.desk.watch(PERSON, ()):
            pass

    watching = asyncio.create_task(watch())
    await eventually(lambda: len(gateway.rooms.approvals.watches) > 0)
    return watching


async def _stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
