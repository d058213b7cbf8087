"""An MCP server on the official SDK, as somebody else would write one; `python upstream_server.py` speaks stdio."""

import asyncio
import os
import sys
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

PNG = "iVBORw0KGgo="
NO_INPUT: dict[str, Any] = {"type": "object"}
TEXT_INPUT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS = types.ToolAnnotations(destructive_hint=True)


def tool(name: str, annotations: types.ToolAnnotations | None = None, **more: Any) -> types.Tool:
    return types.Tool(name=name, input_schema=more.pop("input_schema", NO_INPUT), annotations=annotations, **more)


TOOLS = [
    tool("echo", READS, title="Say it again", description="Say it again.", input_schema=TEXT_INPUT),
    tool("sum", READS, output_schema={"type": "object", "properties": {"sum": {"type": "number"}}}),
    tool("parts", READS),
    tool("fail", READS),
    tool("refuse", READS),
    tool("write", WRITES, input_schema=TEXT_INPUT),
    tool("wreck", DESTROYS),
    tool("undeclared"),
    tool("slow", READS),
    tool("steps", READS),
    tool("arguments", READS),
    tool("environment", READS),
    tool("meta", READS),
    tool("ask", READS),
    tool("grow", WRITES),
    tool("exit", WRITES),
    tool("wait", WRITES),
]


class Upstream:
    """The server, and what happened to it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.cancelled: list[str] = []
        self.tools = list(TOOLS)
        self.page = 5
        self.answers: list[Any] = []
        self.server: Server[Any] = Server(
            "upstream", version="7", on_list_tools=self.list_tools, on_call_tool=self.call_tool
        )

    async def list_tools(self, _ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int(params.cursor) if params is not None and params.cursor else 0
        end = start + self.page
        more = str(end) if end < len(self.tools) else None
        return types.ListToolsResult(tools=self.tools[start:end], next_cursor=more)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.calls.append((params.name, params.arguments or {}))
        try:
            return await getattr(self, f"do_{params.name}", self.do_nothing)(ctx, params.arguments or {})
        except asyncio.CancelledError:
            self.cancelled.append(params.name)
            raise

    async def do_nothing(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        return said("done")

    async def do_echo(self, _ctx: Any, given: dict[str, Any]) -> types.CallToolResult:
        return said(given["text"])

    async def do_arguments(self, _ctx: Any, given: dict[str, Any]) -> types.CallToolResult:
        return said(repr(given))

    async def do_environment(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        return said(",".join(sorted(os.environ)))

    async def do_meta(self, ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        return said(repr(dict(ctx.meta or {})))

    async def do_sum(self, _ctx: Any, given: dict[str, Any]) -> types.CallToolResult:
        total = sum(given.values())
        return types.CallToolResult(
            content=[types.TextContent(text=str(total))], structured_content={"sum": total}, _meta={"by": "upstream"}
        )

    async def do_parts(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        return types.CallToolResult(content=PARTS)

    async def do_fail(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="it cannot be done")], is_error=True)

    async def do_refuse(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        raise MCPError(code=-32042, message="not today", data={"again": "tomorrow"})

    async def do_slow(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        await asyncio.Event().wait()
        return said("late")

    async def do_wait(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        await asyncio.Event().wait()
        return said("late")

    async def do_steps(self, ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        for step in (1, 2):
            await ctx.session.report_progress(step, 2, f"step {step}")
        return said("two steps")

    async def do_ask(self, ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        answer = await ctx.session.elicit_form("Who are you?", schema, related_request_id=ctx.request_id)
        self.answers.append(answer)
        return said(f"{answer.action} {answer.content}")

    async def do_grow(self, ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        self.tools = [*self.tools, tool("grown", READS)]
        await ctx.session.send_tool_list_changed()
        return said("grown")

    async def do_exit(self, _ctx: Any, _given: dict[str, Any]) -> types.CallToolResult:
        os._exit(3)


PARTS: list[Any] = [
    types.TextContent(text="words", annotations=types.Annotations(audience=["user"], priority=0.5), _meta={"a": 1}),
    types.ImageContent(data=PNG, mime_type="image/png"),
    types.AudioContent(data=PNG, mime_type="audio/wav"),
    types.ResourceLink(uri="file:///a", name="a", title="A", description="one", mime_type="text/plain", size=3),
    types.EmbeddedResource(
        resource=types.TextResourceContents(uri="file:///b", text="inside", mime_type="text/plain", _meta={"in": 1}),
        _meta={"out": 2},
    ),
    types.EmbeddedResource(resource=types.BlobResourceContents(uri="file:///c", blob=PNG)),
]


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def main() -> None:
    upstream = Upstream()
    options = upstream.server.create_initialization_options()
    async with stdio_server() as (read, write):
        await upstream.server.run(read, write, options)


if __name__ == "__main__":
    sys.stderr.write("upstream is here, and PATH is a secret of it: " + os.environ.get("SECRET", "none") + "\n")
    asyncio.run(main())
