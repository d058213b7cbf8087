"""Sessions with changes on a shelf, and rolling them back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway_bench import Bench, Ledger, bench
from interlock import Session
from interlock.journal import Operation, RollbackLine
from undoable_tools import Shelf, undoable_tools


@asynccontextmanager
async def shelved(directory: Path, **changes: Any) -> AsyncIterator[tuple[Bench, Shelf]]:
    shelf = Shelf()

    def tools(_: Ledger) -> Any:
        return undoable_tools(shelf)

    async with bench(directory, tools=tools, **changes) as at:
        yield at, shelf


async def rolled_back(session: Session, **asked: Any) -> list[RollbackLine]:
    return [line async for line in session.rollback(reason="start over", **asked)]


def outcomes(lines: list[RollbackLine]) -> list[tuple[str, str, int]]:
    return [(line.operation.call_id, str(line.outcome), line.remaining) for line in lines]


async def put(session: Session, *keys: str) -> None:
    for key in keys:
        result = await session.call("put", {"key": key, "value": f"new {key}"}, call_id=f"put-{key}")
        assert result.ok, result.text


async def found(session: Session, call_id: str) -> Operation:
    return next(one for one in await session.operations() if one.call_id == call_id)
