"""Deadlines of many calls on one timer."""

import asyncio

import pytest
from interlock_gateway.http2.deadlines import Deadlines


class _Call:
    def __init__(self, ended: "list[str]", name: str) -> None:
        self._ended = ended
        self._name = name
        self.over = asyncio.get_running_loop().create_future()

    def expire(self) -> None:
        self._ended.append(self._name)
        self.over.set_result(None)


@pytest.mark.req("PIPE-7")
async def test_each_call_ends_when_its_own_time_is_over() -> None:
    ended: list[str] = []
    deadlines = Deadlines(asyncio.get_running_loop())
    calls = {name: _Call(ended, name) for name in ("last", "first", "second")}
    for name, seconds in (("last", 0.03), ("first", 0.01), ("second", 0.02)):
        deadlines.watch(calls[name], seconds)
    async with asyncio.timeout(10):
        await calls["last"].over
    assert ended == ["first", "second", "last"]


async def test_a_call_that_has_ended_is_not_told() -> None:
    ended: list[str] = []
    deadlines = Deadlines(asyncio.get_running_loop())
    gone, other = _Call(ended, "gone"), _Call(ended, "other")
    deadlines.watch(gone, 0.01)
    deadlines.watch(other, 0.02)
    deadlines.forget(gone)
    async with asyncio.timeout(10):
        await other.over
    assert ended == ["other"]


async def test_a_deadline_that_has_passed_already_is_told_too() -> None:
    ended: list[str] = []
    late = _Call(ended, "late")
    Deadlines(asyncio.get_running_loop()).watch(late, -1.0)
    async with asyncio.timeout(10):
        await late.over
    assert ended == ["late"]
