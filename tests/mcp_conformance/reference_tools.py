"""The tools, resources and prompts that the conformance suite asks a server for, in every revision of the protocol.

Names and answers are the suite's: it looks tools up by name and compares what they say.
"""

import base64
import json
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field
from waiting import a_moment

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = base64.b64encode(b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\2\0\0\0\0\0").decode()


class Answer(BaseModel):
    """What a person is asked for."""

    response: str = Field(description="What you say")


class Defaults(BaseModel):
    """One field of each primitive type, each with a default (SEP-1034)."""

    name: str = Field(default="John Doe", description="A name")
    age: int = Field(default=30, description="An age")
    score: float = Field(default=95.5, description="A score")
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(default=True, description="Whether it was verified")


class Choices(BaseModel):
    """The five ways to offer a choice (SEP-1330)."""

    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})  # noqa: N815 - as asked
    titledSingle: str = Field(  # noqa: N815 - as asked
        json_schema_extra={"oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]}
    )
    legacyEnum: str = Field(  # noqa: N815 - as asked
        json_schema_extra={"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option 1", "Option 2", "Option 3"]}
    )
    untitledMulti: list[str] = Field(  # noqa: N815 - as asked
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2", "option3"]}}
    )
    titledMulti: list[str] = Field(  # noqa: N815 - as asked
        json_schema_extra={"items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]}}
    )


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_content(server: MCPServer) -> None:
    """Tools that answer with each kind of content."""

    @server.tool()
    def test_simple_text() -> list[TextContent]:
        """A text."""
        return [TextContent(text="This is a simple text response for testing.")]

    @server.tool()
    def test_image_content() -> list[ImageContent]:
        """An image."""
        return [ImageContent(data=PIXEL, mime_type="image/png")]

    @server.tool()
    def test_audio_content() -> list[AudioContent]:
        """A sound."""
        return [AudioContent(data=SOUND, mime_type="audio/wav")]

    @server.tool()
    def test_embedded_resource() -> list[EmbeddedResource]:
        """A resource."""
        return [_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]

    @server.tool()
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """A text, an image and a resource."""
        return [
            TextContent(text="Multiple content types test:"),
            ImageContent(data=PIXEL, mime_type="image/png"),
            _embedded("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'),
        ]

    @server.tool()
    def test_error_handling() -> str:
        """Fail, in the tool's own words."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    def json_schema_2020_12_tool() -> str:
        """Has a schema that uses what JSON Schema 2020-12 added."""
        return "called"

    described = server._tool_manager.get_tool("json_schema_2020_12_tool")
    assert described is not None
    described.parameters = SCHEMA_2020_12


def add_talking(server: MCPServer) -> None:
    """Tools that say something to the client, or ask it, before they answer."""

    @server.tool()
    async def test_tool_with_logging(ctx: Context) -> str:
        """Log three times."""
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(words)
            await pause(5)
        return "Tool with logging executed successfully"

    @server.tool()
    async def test_tool_with_progress(ctx: Context) -> str:
        """Report progress three times."""
        for done in (0, 50, 100):
            await ctx.report_progress(progress=done, total=100, message=f"Completed step {done} of 100")
            await pause(5)
        meta = ctx.request_context.meta or {}
        return str(meta.get("progress_token", meta.get("progressToken", "")))

    @server.tool()
    async def test_sampling(prompt: str, ctx: Context) -> str:
        """Ask the client's model."""
        asked = [SamplingMessage(role="user", content=TextContent(text=prompt))]
        # Without the request that it belongs to it would go to a stream that the client may not have opened yet.
        result = await ctx.session.create_message(messages=asked, max_tokens=100, related_request_id=ctx.request_id)
        content = result.content
        return f"LLM response: {content.text if isinstance(content, TextContent) else 'no text'}"

    @server.tool()
    async def test_elicitation(message: str, ctx: Context) -> str:
        """Ask the person."""
        return f"User response: {await _asked(ctx, message, Answer)}"

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Ask the person, with defaults."""
        return f"Elicitation completed: {await _asked(ctx, 'Please review these', Defaults)}"

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        """Let the person choose."""
        return f"Elicitation completed: {await _asked(ctx, 'Please choose', Choices)}"

    @server.tool()
    async def test_reconnection(ctx: Context) -> str:
        """Close the stream in the middle of the call (SEP-1699)."""
        await ctx.info("Before the stream is closed")
        await ctx.close_sse_stream()
        await pause(20)
        await ctx.info("After the client came back")
        return "Reconnection test completed"


def add_resources(server: MCPServer) -> None:
    """Resources that are read, and one that can be subscribed to."""

    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image."""
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002 - the template's own name for it
        """What has an id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """What can be watched."""
        return "Watched resource content"


def add_prompts(server: MCPServer) -> None:
    """Prompts with and without arguments, with a resource, with an image."""

    @server.prompt()
    def test_simple_prompt() -> list[UserMessage]:
        """A text."""
        return [UserMessage(TextContent(text="This is a simple prompt for testing."))]

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        """A text with what was given."""
        return [UserMessage(TextContent(text=f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - as asked
        """A resource, and what to do with it."""
        resource = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage(TextContent(text="Please process the embedded resource above."))]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """An image, and what to do with it."""
        image = ImageContent(data=PIXEL, mime_type="image/png")
        return [UserMessage(image), UserMessage(TextContent(text="Please analyze the image above."))]


def add_handlers(server: MCPServer) -> None:
    """Completion, and the requests of the older revisions that the SDK's server leaves to its user."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK's own lack of types
    async def complete(_ref: Any, _argument: Any, _context: Any) -> Completion:
        return Completion(values=["paris", "park", "party"], total=3, has_more=False)

    async def done(_ctx: Any, _params: Any) -> EmptyResult:
        return EmptyResult()

    lowlevel = server._lowlevel_server
    lowlevel.add_request_handler("logging/setLevel", SetLevelRequestParams, done)
    lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, done)
    lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, done)


async def pause(moments: int) -> None:
    """Let some time pass between what is said: clients are to see it come one by one."""
    for _ in range(moments):
        await a_moment()


async def _asked(ctx: Context, message: str, schema: type[BaseModel]) -> str:
    result = await ctx.elicit(message=message, schema=schema)
    content = result.data.model_dump_json() if result.action == "accept" else "{}"
    return f"action={result.action}, content={content}"


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))
