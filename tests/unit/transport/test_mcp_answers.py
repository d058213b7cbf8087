"""Answers of the core as MCP has them: nothing of a part is lost, and no status is left without words (MCP-3)."""

import base64
import json
from typing import Any

import pytest
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Artifact, Audio, Content, Image, Resource, Text
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.mcp.answers import Asked, answered
from interlock_gateway.transport.mcp.content import content_of
from interlock_gateway.transport.mcp.errors import as_mcp_error
from mcp import MCPError
from mcp_types import CallToolResult
from mcp_types.methods import serialize_server_result
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

NEW = "2025-11-25"
ASIDE = b'{"audience":["user"],"priority":0.5}', b'{"x/y":[1,{"z":null}]}'
SHOWN = {"annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"x/y": [1, {"z": None}]}}
ARTIFACT = Artifact("artifact://s/" + "a" * 64, 99, 9, "text/plain", "a" * 64)
PARTS: list[tuple[Content, dict[str, Any]]] = [
    (Text("t", *ASIDE), {"type": "text", "text": "t"}),
    (Image(b"\0i", "image/png", *ASIDE), {"type": "image", "data": "AGk=", "mimeType": "image/png"}),
    (Audio(b"\0a", "audio/wav", *ASIDE), {"type": "audio", "data": "AGE=", "mimeType": "audio/wav"}),
    (
        Resource("file:///a", media_type="text/plain", text="", annotations=ASIDE[0], meta=ASIDE[1], extra=b'{"k":1}'),
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "", "k": 1}},
    ),
    (
        Resource("file:///b", blob=b"\xff", annotations=ASIDE[0], meta=ASIDE[1]),
        {"type": "resource", "resource": {"uri": "file:///b", "blob": base64.b64encode(b"\xff").decode()}},
    ),
    (
        Resource("u:1", "n", "T", "d", "a/b", 0, annotations=ASIDE[0], meta=ASIDE[1], extra=b'{"icons":[]}'),
        {
            "type": "resource_link",
            "uri": "u:1",
            "name": "n",
            "title": "T",
            "description": "d",
            "mimeType": "a/b",
            "size": 0,
            "icons": [],
        },
    ),
]


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize(("part", "shown"), PARTS)
def test_a_part_goes_out_as_it_came(part: Content, shown: dict[str, Any]) -> None:
    assert content_of(part, NEW) == {**shown, **SHOWN}


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("status", CallStatus)
def test_every_answer_is_one_that_every_revision_knows(version: str, status: CallStatus) -> None:
    content = (*(part for part, _ in PARTS), Resource("", extra=b'{"type":"novel"}'))
    result = CallResult("c", status, content=content, data={"a": 1}, has_data=True, artifact=ARTIFACT)
    answer = answered(result, Asked(version))
    serialize_server_result("tools/call", version, answer)
    CallToolResult.model_validate(answer)
    ran = status in {CallStatus.COMPLETED, CallStatus.PREVIEW}
    waits = status in {CallStatus.AWAITING_CHECKPOINT, CallStatus.REFLECTION_REQUIRED}
    assert answer["isError"] is not (ran or waits)


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (Text("t", b'{"priority":7}', b'{"k":1}'), {"type": "text", "text": "t"}),
        (Text("t", b"not json", b"[1]"), {"type": "text", "text": "t"}),
        (Image(b"i", "image/png", b'{"audience":"all"}'), {"type": "image", "data": "aQ==", "mimeType": "image/png"}),
        (Resource("u:1", "n", extra=b'{"icons":5}'), None),
    ],
)
def test_a_part_that_no_revision_knows_costs_its_crooked_members_and_not_the_answer(
    part: Content, shown: dict[str, Any] | None
) -> None:
    answer = answered(CallResult("c", CallStatus.COMPLETED, content=(part,)), Asked(NEW))
    serialize_server_result("tools/call", NEW, answer)
    (found,) = answer["content"]
    if shown is None:
        assert json.loads(found["text"]) == {"type": "resource_link", "uri": "u:1", "name": "n", "icons": 5}
    else:
        assert found == shown


@pytest.mark.req("MCP-3")
def test_what_an_mcp_server_said_of_its_result_is_said_again_and_ours_stands_beside_it() -> None:
    more = {"_meta": {"theirs": 1, "dev.interlock/status": "forged"}, "novel": True, "content": "forged"}
    details: Any = {"mcp": {"result": more}}
    answer = answered(CallResult("c", CallStatus.COMPLETED, details=details), Asked(NEW, from_mcp=True))
    assert (answer["novel"], answer["content"]) == (True, [])
    assert answer["_meta"] == {"theirs": 1, "dev.interlock/status": "completed", "dev.interlock/call_id": "c"}
    others = answered(CallResult("c", CallStatus.COMPLETED, details=details), Asked(NEW))
    assert "novel" not in others


@pytest.mark.req("MCP-3")
def test_an_mcp_servers_error_comes_as_it_was_but_not_for_a_denial() -> None:
    details: Any = {"mcp": {"error": {"code": -32050, "message": "theirs", "data": {"k": [1]}}}}
    with pytest.raises(MCPError) as raised:
        answered(CallResult("c", CallStatus.FAILED, is_error=True, details=details), Asked(NEW, from_mcp=True))
    assert (raised.value.error.code, raised.value.error.data) == (-32050, {"k": [1]})
    assert answered(CallResult("c", CallStatus.DENIED, details=details), Asked(NEW, from_mcp=True))["isError"]
    assert answered(CallResult("c", CallStatus.FAILED, details=details), Asked(NEW))["isError"]


@pytest.mark.req("MCP-1")
def test_a_tool_with_a_schema_never_answers_without_structure_unless_it_is_an_error() -> None:
    asked = Asked(NEW, structured=True)
    assert answered(CallResult("c", CallStatus.PREVIEW), asked)["isError"] is True
    cut = answered(CallResult("c", CallStatus.COMPLETED, artifact=ARTIFACT, truncated=True), asked)
    assert cut["isError"] is True
    assert "was completed" in cut["content"][-1]["text"]
    assert answered(CallResult("c", CallStatus.COMPLETED, data={}, has_data=True), asked)["isError"] is False


@pytest.mark.req("MCP-1", "MCP-3")
def test_structure_is_told_as_text_to_who_would_not_see_it() -> None:
    result = CallResult("c", CallStatus.COMPLETED, data={"a": "ü"}, has_data=True)
    for asked in (Asked(NEW), Asked("2025-03-26", from_mcp=True)):
        assert json.loads(answered(result, asked)["content"][0]["text"]) == {"a": "ü"}
    assert answered(result, Asked(NEW, from_mcp=True))["content"] == []


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("fault", RequestFault)
def test_every_refusal_has_a_code_and_a_reason(fault: RequestFault) -> None:
    told = as_mcp_error(RequestError(fault, "words", field="f", retry_s=0.25), NEW).error
    assert -32768 <= told.code <= -32000
    assert told.data["reason"].isupper()
    assert (told.data["field"], told.data["retry_after_s"]) == ("f", 0.25)
