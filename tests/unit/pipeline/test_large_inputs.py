"""Large inputs are read beside the loop, and no differently (REL-7, PIPE-3)."""

import asyncio
import json
import sys
from functools import partial

import pytest
from interlock_gateway.core.digest import BoundCall
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.pipeline.canonical import canonical
from interlock_gateway.pipeline.large_inputs import LargeInputs


@pytest.mark.req("PIPE-3", "CHK-3")
@pytest.mark.parametrize(
    "value",
    [
        {"text": "word \u00e9\n" * 40_000},
        {"list": [{"number": number, "half": number / 2, "deep": [[number]]} for number in range(3000)]},
        {"b": 1, "a": "x" * 70_000, "\U00010000": 1, "\ue000": 2},
    ],
)
async def test_what_is_read_beside_the_loop_has_the_same_value_and_digest(value: dict[str, object]) -> None:
    raw = json.dumps(value).encode()
    usual = sys.getswitchinterval()
    document = await LargeInputs().read(raw, principal_id="me", max_bytes=len(raw), max_depth=64)
    assert sys.getswitchinterval() == usual
    assert document == parse(raw, max_depth=64)
    bound = BoundCall("me", "session", "tool", "pin", "", document.value, "revision")
    assert document.hashed is not None
    assert (
        bound.digest(canonical, document.hashed) == bound.digest(canonical) == bound.digest(canonical, document.hashed)
    )


@pytest.mark.req("PIPE-3", "SEC-1")
@pytest.mark.parametrize("wrong", ['"a":1,"a":2', '"a":NaN', '"a":1e400', '"a":"\\ud800"'])
async def test_what_is_wrong_with_a_large_input_is_said_as_of_any_other(wrong: str) -> None:
    raw = ('{"text":"' + "x" * 100_000 + f'",{wrong}}}').encode()
    with pytest.raises(InvalidDocumentError) as found:
        await LargeInputs().read(raw, principal_id="me", max_bytes=len(raw), max_depth=64)
    with pytest.raises(InvalidDocumentError) as expected:
        parse(raw, max_depth=64)
    assert found.value.message == expected.value.message


@pytest.mark.req("REL-7", "REL-8")
async def test_principals_take_turns_and_who_goes_meanwhile_holds_up_nobody() -> None:
    large, order = LargeInputs(), []
    raw = json.dumps({"text": "x" * 100_000}).encode()

    def read(principal: str) -> "asyncio.Task[object]":
        task = asyncio.ensure_future(large.read(raw, principal_id=principal, max_bytes=len(raw), max_depth=8))
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
