"""People who are asked about calls, at a gateway that runs in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.watches import WatchEventKind
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.serving import Gateway
from waiting import eventually

PATIENCE_S = 30.0


@dataclass
class Person:
    """An approver who watches. `asked` gives the checkpoints in the order in which they were opened."""

    gateway: Gateway
    principal: Principal
    seen: "asyncio.Queue[Checkpoint]" = field(default_factory=asyncio.Queue)

    async def asked(self) -> Checkpoint:
        """The next call that they are asked about."""
        return await asyncio.wait_for(self.seen.get(), PATIENCE_S)

    async def says(
        self, decision: ApproverDecision, checkpoint: Checkpoint, *, reason: str = "", **more: bytes | str
    ) -> Checkpoint:
        """Answer it; the checkpoint as it is then."""
        said = Said(checkpoint.checkpoint_id, decision, reason, **more)  # type: ignore[arg-type]  # what it has besides
        return await self.gateway.rooms.approvals.desk.decide(self.principal, said)

    async def approves(self, checkpoint: Checkpoint) -> Checkpoint:
        """Approve it."""
        return await self.says(ApproverDecision.APPROVE, checkpoint)

    async def approves_the_next(self) -> Checkpoint:
        """Approve what they are asked about next."""
        return await self.approves(await self.asked())

    async def watch(self) -> None:
        """Look, until cancelled."""
        async for event in self.gateway.rooms.approvals.desk.watch(self.principal, ()):
            if event.checkpoint is not None and event.kind in (WatchEventKind.OPENED, WatchEventKind.ALREADY_OPEN):
                self.seen.put_nowait(event.checkpoint)


@asynccontextmanager
async def person(gateway: Gateway, name: str = "bob", *groups: str) -> AsyncIterator[Person]:
    """An approver who watches while the block lasts."""
    made = Person(gateway, Principal(name, "token", frozenset({Role.APPROVER}), groups))
    before = len(gateway.rooms.approvals.watches)
    watching = asyncio.create_task(made.watch())
    try:
        await eventually(lambda: len(gateway.rooms.approvals.watches) > before)
        yield made
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def asking(directory: Path, tool: str, **obligations: object) -> PolicyConfig:
    """Policies that ask people about every call of `tool`, with these obligations."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True, exist_ok=True)
    terms = ", ".join(f'"{name}": {_rego(value)}' for name, value in obligations.items())
    (custom / "ask.rego").write_text(
        "package interlock.custom\n\n"
        "findings contains {\n"
        '\t"verdict": "checkpoint",\n\t"code": "ask",\n\t"message": "people are asked",\n\t"rule": "custom/ask",\n'
        f'\t"obligations": {{{terms}}},\n'
        f'}} if {{\n\tinput.tool.name == "{tool}"\n}}\n'
    )
    return PolicyConfig(overlays=(directory / "overlay",))


def _rego(value: object) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_rego, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
