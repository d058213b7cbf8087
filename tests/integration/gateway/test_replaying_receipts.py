"""What a gateway recorded is decided alike when it is replayed, and would change under stricter policies (LIFE-6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from audited_calls import audited, malformed
from interlock_gateway.audit.segments import list_segments, read_raw_lines
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.replay.comparing import Direction
from interlock_gateway.policy.replay.lines import beginning, recorded
from interlock_gateway.policy.replay.running import Plan, replay

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "x"}),
    ("say", {"text": "x" * 5000}),
    ("echo", {"text": "ghp_" + "a1B2c3D4e5F6" * 3}),
    ("set_value", {"value": "b"}),
    ("wreck", {"what": "x"}),
    ("undeclared", {"text": "x"}),
    ("careful", {"text": "x"}),
    ("no_such_tool", {}),
    ("propose", {"plan": "p"}),
]


@pytest.mark.req("LIFE-6")
async def test_the_receipts_of_a_gateway_are_replayed_without_a_difference(socket_directory: Path) -> None:
    async with audited(socket_directory) as found:
        session = found.at.agent.session("s")
        for name, arguments in CALLS:
            await session.call(name, arguments)
        await session.resolve("discard", "not that")
        await session.call("replace_value", {"value": "c"})
        await session.resolve("apply", "yes")
        await malformed(found.at, "malformed")
    directory = socket_directory / "state" / "audit"
    in_force = load_bundle()
    same = await asyncio.to_thread(replay, Plan(directory, in_force, in_force, always=True, processes=1))
    assert (same.unreadable, same.not_reproduced, same.failed) == (0, 0, {})
    assert not same.changes
    assert same.partial == 2
    assert same.decisions >= len(CALLS)
    assert same.without_input + same.by_gateway >= 2
    stricter = await asyncio.to_thread(replay, Plan(directory, load_bundle(profile="strict"), in_force, processes=1))
    assert stricter.changed(Direction.LOOSENED) == 0


@pytest.mark.req("PERF-7")
async def test_the_receipts_of_a_gateway_are_read_without_being_parsed(socket_directory: Path) -> None:
    async with audited(socket_directory) as found:
        for name, arguments in CALLS[:2]:
            await found.at.agent.session("s").call(name, arguments)
    (segment,) = list_segments(socket_directory / "state" / "audit")
    receipts = [
        line for line in read_raw_lines(segment.path) if (begun := beginning(line)) and begun.kind == b"receipt"
    ]
    assert len(receipts) == 2
    read = [recorded(line) for line in receipts]
    assert [one.is_whole for one in read if one is not None] == [True, False]
