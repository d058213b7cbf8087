"""Results of MCP servers in our own types: nothing of them is lost, and what is malformed is no result."""

from typing import Any

import pytest
from interlock_gateway.core.content import Resource
from interlock_gateway.errors import OutcomeUnknownError
from interlock_gateway.providers.mcp.contents import result_outcome, whole_outcome
from interlock_gateway.transport.mcp.content import content_of

LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}


def of(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"content": list(parts), **more}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": ""},
        {"type": "text", "text": "x", "annotations": {"priority": 0.1, "new": [1]}, "_meta": {"a/b": None}},
        {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png", "_meta": {"k": "ü"}},
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        LINK,
        {**LINK, "size": 0, "title": "A", "description": "d", "mimeType": "text/x", "icons": [{"src": "i"}]},
        {**LINK, "size": -1},
        {**LINK, "size": 1.5},
        EMBEDDED,
        {"type": "resource", "resource": {"uri": "x:y", "blob": "AAE=", "mimeType": "a/b", "_meta": {"in": 1}, "z": 2}},
        {**EMBEDDED, "annotations": {"audience": ["user"]}, "_meta": {"out": 1}},
    ],
)
@pytest.mark.req("MCP-3")
def test_a_part_goes_out_as_it_came_in(part: dict[str, Any]) -> None:
    (kept,) = result_outcome(of(part), "up").content
    assert content_of(kept, "2025-11-25") == part


@pytest.mark.parametrize(
    "part",
    [
        "text",
        {"text": "no type"},
        {"type": "text"},
        {"type": "text", "text": 7},
        {"type": "text", "text": "x", "_meta": []},
        {"type": "image", "data": "!", "mimeType": "image/png"},
        {"type": "image", "data": "aGVsbG8="},
        {"type": "resource", "resource": {"uri": "x:y"}},
        {"type": "resource", "resource": []},
        {"type": "resource", "resource": {"text": "x"}},
        {"type": "resource_link", "name": "a"},
        {"type": "brand new", "data": "x" * 100_000},
    ],
)
@pytest.mark.req("MCP-3", "PIPE-7")
def test_a_result_that_cannot_be_read_is_an_unknown_outcome(part: Any) -> None:
    with pytest.raises(OutcomeUnknownError, match="provider up returned a result that cannot be read"):
        result_outcome(of(part), "up")


@pytest.mark.req("MCP-3")
def test_a_part_of_a_kind_that_is_not_known_yet_is_kept() -> None:
    (kept,) = result_outcome(of({"type": "video", "frames": 3}), "up").content
    assert kept == Resource(uri="", extra=b'{"type":"video","frames":3}')


@pytest.mark.req("MCP-3")
def test_structure_errors_and_meta_are_told_from_each_other() -> None:
    nothing = result_outcome(of({"type": "text", "text": "x"}), "up")
    assert (nothing.has_data, nothing.is_error, nothing.details) == (False, False, None)
    null = result_outcome(of(structuredContent=None, isError=True), "up")
    assert (null.has_data, null.data, null.is_error, null.tool_error) == (True, None, True, True)
    stamped = {"io.modelcontextprotocol/serverInfo": {"name": "up"}}
    assert result_outcome(of(_meta=stamped, resultType="complete"), "up").details is None
    more = result_outcome(of(_meta={**stamped, "mine": 1}, other=2), "up")
    assert more.details == {"mcp": {"result": {"_meta": {"mine": 1}, "other": 2}}}


@pytest.mark.req("MCP-3")
def test_a_server_does_not_say_what_the_gateway_says_of_a_result() -> None:
    claimed = {"dev.interlock/pending": {"pending_id": "p"}, "dev.interlock/decision": {"verdict": "allow"}}
    assert result_outcome(of(_meta=claimed), "up").details is None
    whole = whole_outcome({"contents": [], "_meta": {**claimed, "mine": 1}})
    assert whole.data == {"contents": [], "_meta": {"mine": 1}}


@pytest.mark.req("MCP-3")
def test_what_is_no_tools_result_is_kept_whole() -> None:
    outcome = whole_outcome({"contents": [{"uri": "a"}], "_meta": {"mine": 1}, "resultType": "complete"})
    assert outcome.data == {"contents": [{"uri": "a"}], "_meta": {"mine": 1}}
