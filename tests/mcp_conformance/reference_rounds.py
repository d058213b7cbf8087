"""What the conformance suite asks of a server in revision 2026-07-28: several rounds, and lists that change."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)
from pydantic import Field

Round = str | InputRequiredResult


def add_rounds(server: MCPServer) -> None:  # noqa: C901 - a list of small tools
    """Tools that answer once the client has answered them."""

    @server.tool()
    async def test_input_required_result_elicitation(ctx: Context) -> Round:
        """Ask for a name."""
        name = _given(ctx, "user_name", "name")
        return f"Hello, {name}!" if name else _ask(user_name=_form("What is your name?", "name"))

    @server.tool()
    async def test_input_required_result_sampling(ctx: Context) -> Round:
        """Ask the client's model."""
        if (ctx.input_responses or {}).get("capital_question"):
            return "The model has answered"
        return _ask(capital_question=_sample("What is the capital of France?"))

    @server.tool()
    async def test_input_required_result_list_roots(ctx: Context) -> Round:
        """Ask for the client's roots."""
        if (ctx.input_responses or {}).get("client_roots"):
            return "The roots have been listed"
        return _ask(client_roots=ListRootsRequest())

    @server.tool()
    async def test_input_required_result_request_state(ctx: Context) -> Round:
        """Ask, and remember that in the request state."""
        if ctx.input_responses and ctx.request_state == "asked":
            return "state-ok"
        return _ask(state="asked", confirm=_form("Please confirm", "ok", "boolean"))

    @server.tool()
    async def test_input_required_result_tampered_state(ctx: Context) -> Round:
        """The same; the SDK refuses a request state that is not the one it sealed."""
        if ctx.input_responses and ctx.request_state == "untouched":
            return "the state is as it was"
        return _ask(state="untouched", confirm=_form("Please confirm", "ok", "boolean"))

    @server.tool()
    async def test_input_required_result_multiple_inputs(ctx: Context) -> Round:
        """Ask for three things at once."""
        if ctx.input_responses and len(ctx.input_responses) == 3:
            return "All three have been answered"
        return _ask(
            state="three",
            user_name=_form("What is your name?", "name"),
            greeting=_sample("Say a greeting"),
            client_roots=ListRootsRequest(),
        )

    @server.tool()
    async def test_input_required_result_multi_round(ctx: Context) -> Round:
        """Ask twice, one after the other."""
        if not ctx.input_responses:
            return _ask(state="1", step1=_form("Step 1: what is your name?", "name"))
        if ctx.request_state == "1":
            return _ask(state="2", step2=_form("Step 2: which colour do you like?", "color"))
        return "Both steps have been answered"

    @server.tool()
    async def test_input_required_result_capabilities(ctx: Context) -> Round:
        """Ask only for what the client can do."""
        if ctx.input_responses:
            return "Answered"
        can = ctx.client_capabilities or ClientCapabilities()
        asked: dict[str, InputRequest] = {}
        if can.elicitation is not None:
            asked["user_name"] = _form("What is your name?", "name")
        if can.sampling is not None:
            asked["greeting"] = _sample("Say a greeting")
        return InputRequiredResult(input_requests=asked)

    @server.prompt()
    async def test_input_required_result_prompt(ctx: Context) -> list[UserMessage] | InputRequiredResult:
        """Ask what the prompt is about."""
        about = _given(ctx, "user_context", "context")
        if not about:
            return _ask(user_context=_form("What context should the prompt use?", "context"))
        return [UserMessage(TextContent(text=f"Please think about {about}."))]


def add_stateless(server: MCPServer) -> None:
    """Tools with which the suite looks at requests that carry everything themselves."""

    @server.tool()
    async def test_missing_capability(ctx: Context) -> str:
        """Needs a client that samples."""
        can = ctx.client_capabilities
        if can is None or can.sampling is None:
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs a client that can sample", needed)
        return "the client can sample"

    @server.tool()
    async def test_logging_tool(ctx: Context) -> str:
        """Log once."""
        await ctx.info("a line for whoever asked for lines")
        return "logged"

    @server.tool()
    async def test_streaming_elicitation(ctx: Context) -> Round:
        """Report progress, then ask for a name."""
        await ctx.report_progress(progress=1, total=2)
        name = _given(ctx, "user_name", "name")
        return f"Hello, {name}!" if name else _ask(user_name=_form("What is your name?", "name"))

    @server.tool()
    async def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Has an argument that is sent as a header too."""
        return f"in {region}"

    @server.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        """Add a tool, and say so."""
        server.remove_tool("test_added_tool")
        server.add_tool(lambda: "added", name="test_added_tool", description="Was added")
        await ctx.notify_tools_changed()
        return "the list of tools has changed"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        """Say that the list of prompts has changed."""
        await ctx.notify_prompts_changed()
        return "the list of prompts has changed"

    server.add_tool(lambda: "added", name="test_added_tool", description="Comes and goes")


def _ask(*, state: str | None = None, **asked: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=asked, request_state=state)


def _form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sample(words: str) -> CreateMessageRequest:
    asked = [SamplingMessage(role="user", content=TextContent(text=words))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=asked, max_tokens=100))


def _given(ctx: Context, key: str, field: str) -> str:
    answer = (ctx.input_responses or {}).get(key)
    if not isinstance(answer, ElicitResult) or answer.action != "accept" or not answer.content:
        return ""
    return str(answer.content.get(field, ""))
