"""What models are shown of calls, in every shape, and what they are called towards them."""

import doctest
import json
from base64 import b64encode
from typing import Any

import grpc
import pytest
from interlock.adapters import _names
from interlock.adapters._answers import DENIED, IN_DOUBT, UNKNOWN, answer_to, answer_to_error
from interlock.adapters._bridge import Asked
from interlock.adapters._names import LONGEST, Names
from interlock.adapters._shapes import AnthropicShape, ChatShape, ResponsesShape
from interlock.adapters.langgraph import _content
from interlock.adapters.openai_agents import _output
from interlock.adapters.pydantic_ai import _shown
from interlock.errors import GatewayUnavailableError, InvalidRequestError, LimitExceededError, RequestError
from interlock.results import CallResult, CallStatus, Content, ContentKind
from pydantic_ai import BinaryContent

pytestmark = pytest.mark.req("SDK-2")
TEXT = Content(kind=ContentKind.TEXT, text="a text")
IMAGE = Content(kind=ContentKind.IMAGE, data=b"\x89PNG", media_type="image/png")
AUDIO = Content(kind=ContentKind.AUDIO, data=b"RIFF", media_type="audio/wav")
LINK = Content(kind=ContentKind.RESOURCE, uri="artifact://s/1", title="The whole")
NOTE = Content(kind=ContentKind.RESOURCE, uri="file:///a.txt", text="a resource's text", media_type="text/plain")
PAPER = Content(
    kind=ContentKind.RESOURCE, uri="file:///a.pdf", name="a.pdf", data=b"%PDF", media_type="application/pdf"
)
CHART = Content(kind=ContentKind.RESOURCE, uri="file:///c.webp", data=b"RIFFwebp", media_type="image/webp")
EVERYTHING = (TEXT, IMAGE, AUDIO, LINK, NOTE, PAPER, CHART)


def completed(*content: Content, **more: Any) -> CallResult:
    return CallResult(status=CallStatus.COMPLETED, content=content, **more)


def coded(part: Content) -> str:
    return b64encode(part.data).decode()


def test_the_examples_of_names_hold() -> None:
    assert doctest.testmod(_names).failed == 0


def test_a_name_that_is_taken_gets_a_mark_and_stays_with_its_tool() -> None:
    names = Names()
    first = names.give(["a.b", "a/b", "x" * 100])
    later = names.give(["a_b", "a/b", "a.b"])

    assert first["a_b"] == "a.b"
    assert len(first) == 3
    assert all(len(name) <= LONGEST and name.replace("_", "").isalnum() for name in (*first, *later))
    assert names.tool("a_b") == "a.b"
    assert {later[name] for name in later} == {"a_b", "a/b", "a.b"}
    assert names.tool(names.of("a_b")) == "a_b"
    assert names.of("a_b") != "a_b"


def test_a_name_that_needs_no_other_is_not_taken_by_one_that_does() -> None:
    assert Names().give(["a.b", "a_b"])["a_b"] == "a_b"


@pytest.mark.parametrize("victim", ["files.delete_everything", "files." + "x" * 100])
def test_no_tool_takes_the_name_that_is_made_of_another(victim: str) -> None:
    made = Names().give([victim, _names._plain(victim)] if len(victim) <= LONGEST else [victim])
    (foul,) = [name for name, tool in made.items() if tool == victim]
    names = Names()
    names.give([foul])
    given = names.give([foul, _names._plain(victim), victim])
    assert sorted(given.values()) == sorted({foul, _names._plain(victim), victim})
    assert all(names.tool(name) == tool for name, tool in given.items())
    assert given[foul] == foul


def test_the_gateways_own_words_come_after_the_content() -> None:
    answer = answer_to(completed(TEXT, steering=("<system-reminder>",)))
    assert answer.text == "a text\n<system-reminder>"
    assert answer.is_text
    assert not answer.is_error


def test_data_without_content_is_shown_as_json() -> None:
    assert answer_to(completed(data={"größe": 1})).text == '{"größe": 1}'
    assert answer_to(completed(TEXT, data={"a": 1})).text == "a text"


@pytest.mark.parametrize("status", CallStatus)
def test_only_what_completed_or_goes_on_is_no_error_and_none_is_without_words(status: CallStatus) -> None:
    answer = answer_to(CallResult(status=status))
    goes_on = {CallStatus.PREVIEW, CallStatus.AWAITING_CHECKPOINT, CallStatus.REFLECTION_REQUIRED}
    assert answer.is_error == (status not in {CallStatus.COMPLETED, *goes_on})
    if status in {CallStatus.OUTCOME_UNKNOWN, CallStatus.UNKNOWN}:
        assert answer.text == IN_DOUBT
        assert answer_to(CallResult(status=status, content=(TEXT,))).text == f"a text\n{IN_DOUBT}"
    elif status is CallStatus.DENIED:
        assert answer.text == DENIED
        assert answer_to(CallResult(status=status, content=(TEXT,))).text == f"a text\n{DENIED}"
    elif status is not CallStatus.COMPLETED:
        assert "Take it as not run." in answer.text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (GatewayUnavailableError("connect to 10.0.0.7:7080 failed", code=grpc.StatusCode.UNAVAILABLE), UNKNOWN),
        (RequestError("secret", code=grpc.StatusCode.INTERNAL), UNKNOWN),
        # A message that was too large on the way back has no reason, and the call has run.
        (LimitExceededError("larger than max", code=grpc.StatusCode.RESOURCE_EXHAUSTED), UNKNOWN),
        (
            InvalidRequestError("call.input: not JSON", code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD"),
            "The gateway refused the request, and nothing ran: call.input: not JSON",
        ),
    ],
)
def test_without_a_result_the_model_reads_whether_the_call_may_have_run(error: RequestError, words: str) -> None:
    answer = answer_to_error(error)
    assert answer.text == words
    assert answer.is_error


def test_what_is_no_text_is_named_where_only_text_goes() -> None:
    (message,) = ChatShape().results([Asked("t", {}, "1")], [answer_to(completed(*EVERYTHING))])
    assert message["content"].splitlines() == [
        "a text",
        "[image/png, 4 bytes, not shown]",
        "[audio/wav, 4 bytes, not shown]",
        "The whole artifact://s/1",
        "a resource's text",
        "[application/pdf, a.pdf, 4 bytes, not shown]",
        "[image/webp, file:///c.webp, 8 bytes, not shown]",
    ]


def test_responses_take_pictures_and_files() -> None:
    (item,) = ResponsesShape().results([Asked("t", {}, "1")], [answer_to(completed(*EVERYTHING))])
    kinds = [part["type"] for part in item["output"]]
    assert kinds == ["input_text", "input_image", *["input_text"] * 3, "input_file", "input_image"]
    assert item["output"][1]["image_url"] == f"data:image/png;base64,{coded(IMAGE)}"
    assert item["output"][5]["filename"] == "a.pdf"
    assert item["output"][5]["file_data"] == f"data:application/pdf;base64,{coded(PAPER)}"


def test_anthropic_takes_pictures_it_knows_and_documents() -> None:
    odd = Content(kind=ContentKind.IMAGE, data=b"II*", media_type="image/tiff")
    (message,) = AnthropicShape().results([Asked("t", {}, "1")], [answer_to(completed(*EVERYTHING, odd))])
    content = message["content"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image", "text", "text", "text", "document", "image", "text"]
    assert content[1]["source"] == {"type": "base64", "media_type": "image/png", "data": coded(IMAGE)}
    assert content[-1]["text"] == "[image/tiff, 3 bytes, not shown]"


def test_the_agents_sdk_takes_pictures_and_files() -> None:
    output = _output(answer_to(completed(*EVERYTHING)))
    assert [part.type for part in output] == ["text", "image", "text", "text", "text", "file", "image"]
    assert output[5].filename == "a.pdf"


def test_langchain_takes_pictures_sounds_and_files() -> None:
    content = _content(answer_to(completed(*EVERYTHING)))
    assert [part["type"] for part in content if isinstance(part, dict)] == [
        "text", "image", "audio", "text", "text", "file", "image",
    ]  # fmt: skip


def test_pydantic_ai_takes_everything() -> None:
    content = _shown(answer_to(completed(*EVERYTHING)))
    assert [one.media_type for one in content if isinstance(one, BinaryContent)] == [
        "image/png", "audio/wav", "application/pdf", "image/webp",
    ]  # fmt: skip


def test_calls_are_read_from_each_shape_and_nothing_else_is() -> None:
    assert ChatShape().calls({"role": "assistant", "content": "hm"}) == []
    assert ChatShape().calls({"tool_calls": None}) == []
    assert ChatShape().calls({"tool_calls": [{"type": "custom", "id": "1", "custom": {"name": "x"}}]}) == []
    assert ResponsesShape().calls({"output": [{"type": "message"}, {"type": "web_search_call", "id": "1"}]}) == []
    assert AnthropicShape().calls({"content": "hm"}) == []
    assert AnthropicShape().calls([{"type": "text"}, {"type": "server_tool_use", "id": "1", "name": "web"}]) == []
    assert AnthropicShape().results([], []) == []
    arguments = json.dumps({"a": 1})
    function = {"name": "x", "arguments": arguments}
    assert ChatShape().calls({"tool_calls": [{"id": "1", "function": function}]}) == [Asked("x", arguments, "1")]
