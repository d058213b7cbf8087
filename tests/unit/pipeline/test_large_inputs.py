"""Large inputs are read beside the loop, and no differently (REL-7, PIPE-3)."""

import asyncio
import hashlib
import json
import marshal
import os
import random
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.core.call import CallRequest
from interlock_gateway.core.digest import BoundCall
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.pipeline import reading_process, reading_worker, run
from interlock_gateway.pipeline.canonical import canonical
from interlock_gateway.pipeline.large_inputs import LargeInput, LargeInputs
from interlock_gateway.pipeline.schema import CompiledSchema
from scheduling import IDLE, Place, place_of
from waiting import eventually

RAW = json.dumps({"text": "x" * 100_000}).encode()
TEXT = st.text(max_size=20) | st.just("long text " * 9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=12,
)


@asynccontextmanager
async def reading(spare_s: float = 10.0) -> AsyncIterator[LargeInputs]:
    large = LargeInputs(spare_s)
    try:
        yield large
    finally:
        large.close()


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()


@pytest.mark.req("PIPE-3", "CHK-3")
@pytest.mark.parametrize(
    "value",
    [
        {"text": "word \u00e9\n" * 40_000},
        {"list": [{"number": number, "half": number / 2, "deep": [[number]]} for number in range(9000)]},
        {"b": 1, "a": "x" * 70_000, "\U00010000": 1, "\ue000": 2},
        {
            "n" * 100_000: [["y" * 80_000], ["short"] * 50_000, {"z": {"deep": "w" * 70_000, "last": None}}],
            "": [[], {}],
        },
    ],
)
async def test_what_is_read_beside_the_loop_has_the_same_value_and_digest(value: dict[str, object]) -> None:
    raw = json.dumps(value).encode()
    usual = sys.getswitchinterval()
    async with reading() as large:
        document = await large.read(LargeInput(raw, len(raw), 64), "me")
    assert sys.getswitchinterval() == usual
    expected = parse(raw, max_depth=64)
    assert document == expected
    assert json.dumps(document.value) == json.dumps(expected.value), "members are in the order in which they came"
    bound = BoundCall("me", "session", "tool", "pin", "", document.value, "revision")
    assert document.hashed is not None
    assert document.sha256 == hashlib.sha256(raw).hexdigest()
    assert (
        bound.digest(canonical, document.hashed) == bound.digest(canonical) == bound.digest(canonical, document.hashed)
    )


@pytest.mark.req("PIPE-3", "SEC-1")
@pytest.mark.parametrize("wrong", ['"a":1,"a":2', '"a":NaN', '"a":1e400', '"a":"\\ud800"'])
async def test_what_is_wrong_with_a_large_input_is_said_as_of_any_other(wrong: str) -> None:
    raw = ('{"text":"' + "x" * 100_000 + f'",{wrong}}}').encode()
    async with reading() as large:
        for _ in range(2):
            with pytest.raises(InvalidDocumentError) as found:
                await large.read(LargeInput(raw, len(raw), 64), "me")
        assert (await large.read(LargeInput(RAW, len(RAW), 64), "me")).raw == RAW
    with pytest.raises(InvalidDocumentError) as expected:
        parse(raw, max_depth=64)
    assert found.value.message == expected.value.message


@pytest.mark.req("REL-7", "REL-8")
async def test_principals_take_turns_and_who_goes_meanwhile_holds_up_nobody() -> None:
    async with reading() as large:
        await _take_turns(large)


async def _take_turns(large: LargeInputs) -> None:
    order: list[str] = []

    def read(principal: str) -> "asyncio.Task[object]":
        task = asyncio.ensure_future(large.read(LargeInput(RAW, len(RAW), 8), principal))
        task.add_done_callback(partial(done, principal))
        return task

    def done(principal: str, task: "asyncio.Task[object]") -> None:
        if not task.cancelled():
            order.append(principal)

    tasks = [read(principal) for principal in ("greedy", "greedy", "gone", "greedy", "greedy", "other", "other")]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.wait_for(asyncio.wait(tasks), 20)
    assert order == ["greedy", "greedy", "other", "greedy", "other", "greedy"]
    tasks = [read("one"), read("two"), read("three")]
    await asyncio.sleep(0)
    tasks[0].cancel()
    # By now the second was given the turn, and does not know it yet.
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.wait_for(asyncio.wait(tasks), 20)
    assert order[-1] == "three"
    assert (await read("one")) is not None


@pytest.mark.req("REL-7")
async def test_a_large_input_is_read_in_a_process_that_ends_when_there_is_nothing_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_process, "STARVED", 0.0)
    async with reading(spare_s=0.0) as large:
        assert not large.process_ids
        threads: list[str] = []
        await large.read(
            LargeInput(RAW, len(RAW), 8, meanwhile=lambda: threads.append(threading.current_thread().name)), "me"
        )
        assert threads == ["inputs_0"]
        reader = large.process_ids[0]
        ours = place_of(os.getpid())
        assert place_of(reader) == Place(IDLE, 19, ours.session), "in our session, or it would not count"
        await eventually(lambda: large.process_ids == ())


@pytest.mark.req("REL-7", "REL-8")
async def test_who_reads_behind_all_others_and_gets_no_turn_gives_its_place_to_one_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with reading() as large:
        read = partial(large.read, LargeInput(RAW, len(RAW), 8), "me")
        with monkeypatch.context() as patched:
            patched.setattr(reading_process, "STARVED", 0.0)  # on a busy machine it may starve at once
            expected = await read()
        (starving,) = large.process_ids
        os.kill(starving, signal.SIGSTOP)
        async with asyncio.timeout(10.0):
            assert await read() == expected
        (other,) = large.process_ids
        assert gone(starving)
        ours = place_of(os.getpid())
        assert place_of(other) == replace(ours, nice=min(ours.nice + 5, 19)), "behind others, but not behind all"
        assert await read() == expected
        assert large.process_ids == (other,)


@pytest.mark.req("REL-7")
async def test_who_puts_a_large_input_together_lets_others_go_first_with_every_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let: list[str] = []
    monkeypatch.setattr(
        reading_process, "let_others_go", lambda: let.append(threading.current_thread().name), raising=False
    )
    raw = json.dumps({"text": "x" * 4_000_000}).encode()
    async with reading() as large:
        await large.read(LargeInput(raw, len(raw), 8), "me")
    assert let.count("inputs_0") == len(let) > len(raw) / reading_worker.PIECE_BYTES


@pytest.mark.req("REL-7", "PIPE-10")
@pytest.mark.parametrize(("size", "steps"), [(0, 1), (1000, 1), (run.DIGESTED_BYTES, 1), (4_000_000, 31)])
def test_a_requests_digest_is_the_same_in_steps_between_which_others_go_first(
    size: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    let: list[None] = []
    monkeypatch.setattr(run, "let_others_go", lambda: let.append(None))
    raw = random.Random(1).randbytes(size)
    request = CallRequest("session", "call", "tool", raw, workdir="/work")
    assert run._digest_of(request, "tool") == hashlib.sha256(b"4:tool5:/work" + raw).hexdigest()
    assert len(let) == steps - 1


@pytest.mark.req("PIPE-4", "REL-7")
async def test_what_a_large_input_is_checked_against_says_the_same_in_the_process() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 10}}}
    text = json.dumps(schema).encode()
    async with reading() as large:
        for raw in (RAW, b'{"other":[' + b"1.5," * 30_000 + b"{}]}"):
            document = await large.read(LargeInput(raw, len(raw), 8, text), "me")
            assert CompiledSchema(schema).is_valid(document.value) == (raw is not RAW)
            # What is wrong with it is found out by who asks, within bounds.
            assert document.problems == (None if raw is RAW else ())
        assert (await large.read(LargeInput(RAW, len(RAW), 8), "me")).problems is None
    for changed in (document.without(frozenset({"other"})), document.with_fields({"text": 1})):
        assert (changed.problems, changed.sha256, changed.hashed) == (None, "", None)


@pytest.mark.req("REL-7", "PIPE-3")
async def test_without_its_process_a_large_input_is_read_all_the_same() -> None:
    async with reading() as large:
        read = partial(large.read, LargeInput(RAW, len(RAW), 8), "me")
        expected = await read()
        (first,) = large.process_ids
        os.kill(first, signal.SIGKILL)
        found = await read()
        assert found == expected
        assert found.hashed is not None
        assert expected.hashed is not None
        assert found.hashed.hexdigest() == expected.hashed.hexdigest()
        assert gone(first)
        assert await read() == expected
        (second,) = large.process_ids
        assert second != first
    assert gone(second)


@pytest.mark.req("PIPE-3")
@settings(max_examples=200, deadline=None)
@given(value=st.dictionaries(TEXT, JSON, max_size=5), size=st.sampled_from([8, 40, 200]))
def test_a_value_in_pieces_is_the_same_value(value: dict[str, object], size: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading_worker, "PIECE_BYTES", size)
        building = reading_process.Building()
        for kind, piece in reading_worker.pieces_of(value):  # type: ignore[arg-type]  # what hypothesis makes is JSON
            building.take(kind, memoryview(piece))
    assert repr(building.whole) == repr(value)


@pytest.mark.req("SEC-1", "REL-8")
@pytest.mark.parametrize("where", ["meanwhile", "half of the answer"])
async def test_what_was_not_heard_of_one_input_is_never_taken_for_another_one(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    mine, others = (json.dumps({"whose": whose, "text": "x" * 200_000}).encode() for whose in ("mine", "another's"))
    async with reading() as large:
        with monkeypatch.context() as patched:
            if where == "half of the answer":
                patched.setattr(reading_process.Building, "take", fail)
            with pytest.raises(MemoryError):
                await large.read(
                    LargeInput(others, len(others), 8, meanwhile=fail if where == "meanwhile" else int), ""
                )
        document = await large.read(LargeInput(mine, len(mine), 8), "me")
    assert document == parse(mine, max_depth=8)


@pytest.mark.req("REL-7", "REL-8")
@pytest.mark.parametrize("beside", [0, 1000])
def test_no_nesting_has_the_same_written_out_again_and_again(beside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 30
    nested: JsonValue = {"deep": ["word"] * 40_000}
    for level in range(depth):
        nested = [0] * beside + [nested] if level % 2 else {**{f"{n}": 0 for n in range(beside)}, "deep": nested}
    written: list[int] = []
    dumps = marshal.dumps

    def counted(value: Any) -> bytes:
        made = dumps(value)
        written.append(len(made))
        return made

    whole = len(dumps(nested))
    monkeypatch.setattr(marshal, "dumps", counted)
    building = reading_process.Building()
    for kind, piece in reading_worker.pieces_of({"whole": nested}):
        building.take(kind, memoryview(piece))
    assert building.whole == {"whole": nested}
    assert sum(written) < 2.5 * (depth + 3) * whole


@pytest.mark.req("REL-7")
async def test_what_is_being_read_when_the_gateway_ends_is_read_to_its_end() -> None:
    large = LargeInputs()
    task = asyncio.create_task(large.read(LargeInput(RAW, len(RAW), 8), "me"))
    await asyncio.sleep(0)
    large.close()
    assert (await task).raw == RAW
    assert large.process_ids == ()
