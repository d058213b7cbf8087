"""What goes to OpenAI's APIs is what OpenAI's own package calls a request."""

from typing import Any

import pytest
from interlock.adapters._answers import answer_to
from interlock.adapters._bridge import Asked
from interlock.adapters._shapes import AnthropicShape, ChatShape, ResponsesShape
from interlock.results import CallResult, CallStatus, Content, ContentKind
from interlock.tools import Tool
from openai.types.chat import (
    ChatCompletionFunctionToolParam,
    ChatCompletionMessage,
    ChatCompletionNamedToolChoiceParam,
    ChatCompletionToolMessageParam,
)
from openai.types.responses import (
    FunctionToolParam,
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ToolChoiceFunctionParam,
)
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import ConfigDict, TypeAdapter, with_config

pytestmark = pytest.mark.req("SDK-2")
TOOL = Tool(name="files.read", description="Read.", input_schema={"type": "object", "properties": {}})
ANSWER = answer_to(
    CallResult(
        status=CallStatus.COMPLETED,
        content=(
            Content(kind=ContentKind.TEXT, text="a"),
            Content(kind=ContentKind.IMAGE, data=b"x", media_type="image/png"),
            Content(kind=ContentKind.RESOURCE, data=b"x", media_type="application/pdf", name="a.pdf"),
        ),
        steering=("b",),
    )
)


def checked(kind: Any, value: Any) -> None:
    """Hold a dictionary against a type of OpenAI's, which knows no other members than its own."""
    with_config(ConfigDict(extra="forbid"))(kind)
    TypeAdapter(kind).validate_python(value, strict=True)


def test_chat_completions_are_asked_in_their_own_shape() -> None:
    shape = ChatShape()
    checked(ChatCompletionFunctionToolParam, shape.definition("files_read", TOOL))
    checked(ChatCompletionNamedToolChoiceParam, shape.choice("resolve"))
    (message,) = shape.results([Asked("t", {}, "1")], [ANSWER])
    checked(ChatCompletionToolMessageParam, message)


def test_responses_are_asked_in_their_own_shape() -> None:
    shape = ResponsesShape()
    checked(FunctionToolParam, shape.definition("files_read", TOOL))
    checked(ToolChoiceFunctionParam, shape.choice("resolve"))
    (item,) = shape.results([Asked("t", {}, "1")], [ANSWER])
    checked(FunctionCallOutput, {**item, "output": list(item["output"])})


def test_calls_are_found_in_what_openais_package_dumps() -> None:
    function = {"name": "read", "arguments": '{"a": 1}'}
    call = {"id": "call_1", "type": "function", "function": function}
    message = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})
    assert ChatShape().calls(message.model_dump()) == [Asked("read", '{"a": 1}', "call_1")]
    assert (
        ChatShape().calls(message) == ChatShape().calls(message.tool_calls) == ChatShape().calls(message.model_dump())
    )

    item = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"a": 1}'}
    text = {"type": "output_text", "text": "hm", "annotations": []}
    said = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    response = Response.model_construct(
        output=[ResponseOutputMessage.model_validate(said), ResponseFunctionToolCall.model_validate(item)]
    )
    expected = [Asked("read", '{"a": 1}', "call_1")]
    assert ResponsesShape().calls(response.model_dump(warnings=False)) == expected
    assert ResponsesShape().calls(response) == ResponsesShape().calls(response.output) == expected


def test_what_is_no_reply_is_refused_and_not_taken_for_the_end() -> None:
    for shape in (ChatShape(), ResponsesShape(), AnthropicShape()):
        with pytest.raises(TypeError, match="dictionaries, not object"):
            shape.calls([object()])
