"""Lines and events on the way to and from MCP servers."""

import json
import time
from typing import Any

import pytest
from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.sse import Event, EventReader, EventTooLargeError
from interlock_gateway.providers.mcp.target import shown_url
from interlock_gateway.providers.mcp.throttle import COUNTED_BYTES, LINES_AT_ONCE, LogBudget, Throttle, cost_of

SURROGATE = b'{"jsonrpc":"2.0","result":"\\ud800"}'
STREAM = (
    b': hello\r\nid: 1\r\nretry: 250\r\ndata: \r\n\r\nevent: message\ndata: {"a":\ndata: 1}\nid:2\n\ndata:x\r\rrest'
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.req("MCP-2")
def test_events_are_read_however_their_bytes_are_cut(size: int) -> None:
    reader = EventReader(1000)
    found = [event for start in range(0, len(STREAM), size) for event in reader.feed(STREAM[start : start + size])]
    assert found == [Event(b"", "1", 250), Event(b'{"a":\n1}', "2"), Event(b"x")]


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 200, b"x" * 200, b"data: xxxxxxxxxx\n" * 20])
@pytest.mark.req("MCP-2")
def test_an_event_that_is_too_large_is_refused_before_it_has_ended(chunk: bytes) -> None:
    with pytest.raises(EventTooLargeError):
        list(EventReader(100).feed(chunk))


@pytest.mark.req("MCP-3", "PIPE-3")
def test_arguments_are_spliced_in_on_one_line_and_nothing_else_of_them_changes() -> None:
    sent = b'{ "a" : 1.0,\r\n\t"b":"\\n\\u000a" }'
    params = messages.call_params(b'"x"', sent, b'{"progressToken":3}')
    assert params == b'{"name":"x","arguments":{ "a" : 1.0,  \t"b":"\\n\\u000a" },"_meta":{"progressToken":3}}'
    body = messages.request(7, "tools/call", params)
    assert json.loads(body)["params"]["arguments"] == json.loads(sent)
    assert b"\n" not in body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"7",
        b"[7]",
        b"{}",
        b'{"jsonrpc":"1.0"}',
        b'{"jsonrpc":"2.0","x":NaN}',
        b"\xff",
        b"[" * 100_000,
        SURROGATE,
    ],
)
@pytest.mark.req("MCP-2")
def test_what_is_no_message_is_told_apart(raw: bytes) -> None:
    with pytest.raises(messages.NotAMessageError):
        messages.read(raw)


@pytest.mark.req("MCP-2")
def test_messages_come_alone_or_in_batches() -> None:
    one: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert messages.read(json.dumps(one).encode()) == [one]
    assert messages.read(json.dumps([one, one]).encode()) == [one, one]
    assert json.loads(messages.refusal("a", -1, "no", {"x": 1})) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -1, "message": "no", "data": {"x": 1}},
    }
    assert json.loads(messages.notification("n", b"")) == {"jsonrpc": "2.0", "method": "n"}


@pytest.mark.req("MCP-2")
def test_what_nobody_asked_for_is_read_no_faster_than_it_may_come() -> None:
    throttle = Throttle(most=3)
    assert [throttle.pause_s(10.0) for _ in range(4)] == [0.0, 0.0, 0.0, 1.0]
    assert throttle.pause_s(10.9) == pytest.approx(0.1)
    assert throttle.pause_s(11.1) == 0.0


@pytest.mark.req("MCP-2")
def test_lines_are_logged_as_long_as_there_are_not_too_many() -> None:
    budget = LogBudget()
    assert sum(budget.allows(1.0) for _ in range(LINES_AT_ONCE + 50)) == LINES_AT_ONCE
    assert budget.dropped == 50
    assert sum(budget.allows(2.0) for _ in range(50)) == 10


@pytest.mark.req("MCP-2")
def test_an_address_is_shown_without_what_may_be_secret_in_it() -> None:
    assert shown_url("https://a:b@tools.example:8443/mcp?key=1#x") == "https://tools.example:8443/mcp"


@pytest.mark.parametrize("line", [b"data\n", b"data:\n", b"id\n", b"retry: 1\n", b"event\n"])
@pytest.mark.req("MCP-2", "SEC-2")
def test_an_event_of_endless_empty_fields_is_refused(line: bytes) -> None:
    reader = EventReader(1000)
    assert list(reader.feed(line * 10)) == []
    with pytest.raises(EventTooLargeError):
        list(reader.feed(line * 1000))


@pytest.mark.req("MCP-2", "SEC-2")
def test_lines_that_say_nothing_are_counted_and_not_kept() -> None:
    reader = EventReader(1000)
    assert list(reader.feed(b": hello\n\nunknown: x\n" * 1000 + b"data: 1\n\n")) == [Event(b"1")]
    assert reader.strays == 3000


@pytest.mark.req("MCP-2", "SEC-2")
def test_a_byte_behind_a_long_line_costs_no_more_than_behind_a_short_one() -> None:
    reader = EventReader(64 * 1024 * 1024)
    list(reader.feed(b"data: " + b"x" * (32 * 1024 * 1024)))
    began = time.process_time()
    for _ in range(2000):
        list(reader.feed(b"x"))
    assert time.process_time() - began < 1.0  # it was a minute while each byte had all before it copied


@pytest.mark.req("MCP-2", "SEC-2")
def test_a_large_message_that_nobody_asked_for_counts_like_many_and_holds_up_later_ones_too() -> None:
    assert cost_of(b"x" * COUNTED_BYTES * 10) == 11
    throttle = Throttle(most=10)
    assert throttle.pause_s(10.0, 35) == 3.0
    assert throttle.pause_s(12.0) == 1.0
    assert throttle.pause_s(13.0) == 0.0


@pytest.mark.req("MCP-2", "SEC-2")
def test_a_batch_without_end_is_no_message() -> None:
    with pytest.raises(messages.NotAMessageError, match="a batch of more than"):
        messages.read(json.dumps([{"jsonrpc": "2.0", "method": "x"}] * (messages.MAX_BATCH + 1)).encode())
