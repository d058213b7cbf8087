"""Calls that another gateway carries: between request and result, and what is no such thing (EXT-1, PIPE-9, SEC-1)."""

import asyncio
import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from foreign_description import CODES
from interlock_gateway.audit.read import read_records
from interlock_gateway.config import ToolOverride
from interlock_gateway.core.operation import Operation
from interlock_gateway.pipeline.ports import BeginOutcome, CallRecord
from interlock_gateway.transport.extmcp import calls
from other_gateway import CHANGES, READS, Asked, RejectedError, asked, operations, rejected, saying, tool
from waiting import eventually, eventually_so

DENIED, EXHAUSTED, INVALID = (CODES[name] for name in ("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "INVALID"))


@pytest.mark.req("EXT-1", "PIPE-9")
async def test_what_may_change_something_is_in_the_journal_before_it_is_let_through(at: Asked) -> None:
    await at.other.list(tool("append", **CHANGES))
    params = {"name": "append", "arguments": {"text": "x"}}
    _, number = await at.other.request("tools/call", params, ("files",))
    assert len(number) == 32
    states = [one.state.value for one in await operations(at)]
    assert states == ["intended"]
    await at.other.respond("tools/call", saying("ok")({}), ("files",), number=number)
    assert [one.state.value for one in await operations(at)] == ["done"]


@pytest.mark.req("EXT-1")
async def test_a_read_whose_result_cannot_be_read_is_not_said_to_have_run_nowhere(at: Asked) -> None:
    await at.other.list(tool("read", **READS))
    _, number = await at.other.request("tools/call", {"name": "read"}, ("files",))
    error = await rejected(at.other.respond("tools/call", b"nothing", ("files",), number=number))
    assert "the result cannot be read" in error.reason


@pytest.mark.req("EXT-1", "SEC-1")
async def test_a_list_that_could_not_be_written_out_again_is_refused(at: Asked) -> None:
    for raw in (b'{"tools":[],"x":1e999}', b'{"tools":[],"x":"\\ud800"}'):
        assert (await rejected(at.other.respond("tools/list", raw, ("files",)))).code == INVALID


@pytest.mark.req("EXT-1", "SEC-1")
@pytest.mark.parametrize(
    "params",
    [
        b"not json",
        b"[]",
        b'{"name":"read","name":"wreck"}',
        b'{"name":"read","arguments":{"a":1,"a":2}}',
        b'{"name":"read","arguments":{"a":NaN}}',
        b'{"name":"read","arguments":{"a":9007199254740993}}',
        b'{"name":"read","arguments":' + b'{"a":' * 100 + b"1" + b"}" * 101,
        b'{"name":"read","arguments":"text"}',
        b'{"name":["read"]}',
        b'{"name":"read","_meta":7}',
        b'{"name":"read","task":{"ttl":60000}}',
    ],
)
async def test_params_that_could_be_read_otherwise_are_refused(at: Asked, params: bytes) -> None:
    await at.other.list(tool("read", **READS))
    assert (await rejected(at.other.request("tools/call", params, ("files",)))).code == INVALID


@pytest.mark.req("EXT-1", "PIPE-9")
@pytest.mark.parametrize(
    "result",
    [
        b"[]",
        b"nothing",
        b'{"content":[],"content":[]}',
        b'{"content":7}',
        b'{"resultType":"input_required"}',
        b'{"task":{"taskId":"t","status":"working"}}',
        b'{"content":[],"structuredContent":{"a":1e999}}',
        b'{"content":[],"structuredContent":{"a":"\\ud800"}}',
        b"\xff",
    ],
)
async def test_a_result_that_cannot_be_read_is_not_passed_on(at: Asked, result: bytes) -> None:
    await at.other.list(tool("append", **CHANGES))
    _, number = await at.other.request("tools/call", {"name": "append"}, ("files",))
    error = await rejected(at.other.respond("tools/call", result, ("files",), number=number))
    assert "not known whether this call took effect" in error.reason
    assert [one.state.value for one in await operations(at)] == ["outcome_unknown"]


@pytest.mark.req("EXT-1", "PIPE-9")
async def test_a_call_without_a_result_is_of_unknown_outcome_and_a_late_one_is_not_passed_on(
    socket_directory: Path,
) -> None:
    async with asked(socket_directory, {"answer_s": 0.3}) as at:
        await at.other.list(tool("append", **CHANGES))
        _, number = await at.other.request("tools/call", {"name": "append"}, ("files",))
        # The next call of the session waits until the first has ended, one way or the other.
        await at.other.call("append", {"next": 1})
        assert {one.state.value for one in await operations(at)} == {"outcome_unknown", "done"}
        error = await rejected(at.other.respond("tools/call", saying("late")({}), ("files",), number=number))
        assert (error.code, "its time was over" in error.reason) == (INVALID, True)


@pytest.mark.req("EXT-1", "PIPE-9")
async def test_a_late_result_that_names_no_call_is_not_taken_for_that_of_the_next(socket_directory: Path) -> None:
    async with asked(socket_directory, {"answer_s": 0.3}) as at:
        await at.other.list(tool("append", **CHANGES))
        await at.other.request("tools/call", {"name": "append", "arguments": {"first": 1}}, ("files",))
        _, number = await at.other.request("tools/call", {"name": "append", "arguments": {"next": 2}}, ("files",))
        late = at.at(with_number=False).respond("tools/call", saying("of the first")({}), ("files",))
        assert (await rejected(late)).code == INVALID
        answer = saying("of the next")({})
        assert await at.other.respond("tools/call", answer, ("files",), number=number) == answer


@pytest.mark.req("EXT-1", "PIPE-8")
async def test_a_call_that_has_to_wait_for_its_turn_is_answered_before_its_question_would_fail(
    at: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    await at.other.list(tool("append", **CHANGES))
    _, number = await at.other.request("tools/call", {"name": "append", "arguments": {"n": 1}}, ("files",))
    monkeypatch.setattr(calls, "DECIDE_S", 0.2)
    error = await rejected(at.other.request("tools/call", {"name": "append", "arguments": {"n": 2}}, ("files",)))
    assert (error.code, "an earlier one of this session" in error.reason) == (EXHAUSTED, True)
    monkeypatch.undo()
    await at.other.respond("tools/call", saying("ok")({}), ("files",), number=number)
    await at.other.call("append", {"n": 3})
    assert [one.state.value for one in await operations(at)] == ["done", "done"]


@pytest.mark.req("EXT-1", "PIPE-9")
async def test_what_is_given_up_between_its_intent_and_its_sending_is_not_sent(
    at: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    await at.other.list(tool("append", **CHANGES))
    going_on, journal = asyncio.Event(), at.gateway.rooms.store.calls
    begin_call = journal.begin_call

    async def slow(record: CallRecord, operation: Operation, *, applies: str) -> BeginOutcome:
        known = await begin_call(record, operation, applies=applies)
        await going_on.wait()
        return known

    async def is_settled() -> bool:
        return [one.state.value for one in await operations(at)] == ["failed"]

    monkeypatch.setattr(journal, "begin_call", slow)
    monkeypatch.setattr(calls, "DECIDE_S", 0.1)
    assert (await rejected(at.other.request("tools/call", {"name": "append"}, ("files",)))).code == EXHAUSTED
    assert [one.state.value for one in await operations(at)] == ["intended"]
    going_on.set()
    await eventually_so(is_settled)


@pytest.mark.req("EXT-1", "AUD-1")
async def test_a_read_without_a_result_has_failed_and_says_so_in_its_receipt(socket_directory: Path) -> None:
    async with asked(socket_directory, {"answer_s": 0.1}) as at:
        await at.other.list(tool("read", **READS))
        await at.other.request("tools/call", {"name": "read"}, ("files",))
        records = socket_directory / "state" / "audit"
        await eventually(lambda: any(one.record.get("tool") == "files/read" for one in read_records(records)))
        (receipt,) = [one.record for one in read_records(records) if one.record.get("tool") == "files/read"]
        outcome: Any = receipt["outcome"]
        assert outcome["status"] == "failed"


@pytest.mark.req("EXT-1")
async def test_a_tool_that_answers_fast_can_be_waited_for_less_long(socket_directory: Path) -> None:
    fast = {"files/append": ToolOverride(timeout_s=0.2)}
    async with asked(socket_directory, tools=fast) as at:
        await at.other.list(tool("append", **CHANGES))
        await at.other.request("tools/call", {"name": "append"}, ("files",))
        async with asyncio.timeout(10):
            await at.other.call("append", {"next": 1})
        assert {one.state.value for one in await operations(at)} == {"outcome_unknown", "done"}


@pytest.mark.req("EXT-1")
async def test_a_result_is_that_of_the_call_it_names_and_of_no_other(
    at: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    await at.other.list(tool("read", **READS))
    forgetful = at.at(with_number=False)
    assert "does not say which call it is of" in (await rejected(forgetful.call("read", {}))).reason
    assert "a result does not say which call it is of" in caplog.text
    numbers = [(await at.other.request("tools/call", {"name": "read"}, ("files",)))[1] for _ in range(2)]
    assert len(set(numbers)) == 2
    answer = saying("whose?")({})
    assert (await rejected(forgetful.respond("tools/call", answer, ("files",)))).code == INVALID
    for user, session in (("bo", "one"), ("ana", "two")):
        stolen = at.other.respond("tools/call", answer, ("files",), user, session, number=numbers[0])
        assert (await rejected(stolen)).code == INVALID
    for number in numbers:
        assert await at.other.respond("tools/call", answer, ("files",), number=number) == answer
        again = at.other.respond("tools/call", answer, ("files",), number=number)
        assert (await rejected(again)).code == INVALID


@pytest.mark.req("EXT-1", "PIPE-10")
async def test_a_call_id_that_was_used_is_answered_and_not_sent_again(at: Asked) -> None:
    await at.other.list(tool("append", **CHANGES))
    meta: dict[str, Any] = {"_meta": {"dev.interlock/call_id": "once"}}
    await at.other.call("append", {"a": 1}, saying("first"), **meta)
    again = await rejected(at.other.call("append", {"a": 1}, saying("second"), **meta))
    assert "was answered already" in again.reason
    assert "first" in again.reason
    assert (await rejected(at.other.call("append", {"a": 2}, **meta))).code == INVALID


@pytest.mark.req("EXT-1", "SEC-2")
async def test_whatever_is_sent_is_answered_and_never_a_failed_rpc(at: Asked, caplog: pytest.LogCaptureFixture) -> None:
    await at.other.list(tool("read", **READS))
    dice = random.Random(7)
    words: list[Any] = [None, 0, -1.5, "", "read", "\ud83d\ude00", [], {}, True, "x" * 3000, {"name": {}}, [[[]]]]

    def made(depth: int = 3) -> Any:
        if not depth or dice.random() < 0.4:
            return dice.choice(words)
        keys = ("name", "arguments", "_meta", "tools", "content", "type", "text", "isError", "uri", "annotations")
        if dice.random() < 0.3:
            return [made(depth - 1) for _ in range(dice.randrange(3))]
        return {dice.choice(keys): made(depth - 1) for _ in range(dice.randrange(5))}

    for _ in range(150):
        method = dice.choice(("tools/call", "tools/list", "resources/read", "prompts/get", "nothing"))
        params = {"name": "read", **value} if isinstance(value := made(), dict) and dice.random() < 0.7 else value
        number = ""
        with contextlib.suppress(RejectedError):
            _, number = await at.other.request(method, params, ("files",))
        with contextlib.suppress(RejectedError):
            await at.other.respond(method, json.dumps(made()).encode(), ("files",), number=number)
    assert "a request failed" not in caplog.text
