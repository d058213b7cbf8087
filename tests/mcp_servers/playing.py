"""Playing a play against a server, directly or behind a gateway, and writing down what came back."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ElicitResult, TextContent
from plays import Play

# What a gateway adds to a result, and what each server of revision 2026-07-28 says of itself in every result.
OURS = ("dev.interlock/", "io.modelcontextprotocol/serverInfo")
HINTS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
"""What is taken for granted without a hint. `idempotentHint` is not passed on: nothing here may rely on it."""
SAFETY = re.compile(r"\n\[Safety\] .*")
"""What the gateway adds to descriptions of tools that destroy (TOOL-7)."""
VARIES = "(varies)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call came to: its result or its error as on the wire, and the progress that was reported."""

    tool: str
    arguments: str
    result: Any
    progress: list[Any] = field(default_factory=list)


@asynccontextmanager
async def direct(play: Play, at: Path) -> AsyncIterator[Client]:
    """A client of the server itself, over stdio."""
    program, *arguments = play.command(at)
    parameters = StdioServerParameters(command=program, args=arguments, env=environment(play, at))
    with (at.parent / "direct.log").open("w") as log:
        from mcp.client.stdio import stdio_client

        async with client(stdio_client(parameters, errlog=log)) as connected:
            yield connected


@asynccontextmanager
async def client(server: Any) -> AsyncIterator[Client]:
    """A client that answers what it is asked."""
    async with Client(server, elicitation_callback=_accept, sampling_callback=_sample, cache=None) as connected:
        yield connected


def environment(play: Play, at: Path) -> dict[str, str]:
    """The environment that the server is given besides what it is given anyway."""
    return {name: value.replace("{at}", str(at)) for name, value in play.environment.items()}


@contextmanager
def stage(play: Play, at: Path) -> Iterator[Path]:
    """The directory as the play finds it; it has the same name for everybody who plays, one after the other."""
    at.mkdir()
    play.prepare(at)
    yield at
    at.rename(at.with_name(f"played-{len(list(at.parent.iterdir()))}"))


async def played(play: Play, at: Path, connected: Client) -> list[Answer]:
    """What the calls of the play came to."""
    return [await _answer(play, connected, name, arguments) for name, arguments in play.calls(at)]


async def tools(connected: Client) -> dict[str, dict[str, Any]]:
    """The tools by name, with what a client makes decisions on: schemas, title, description, hints with defaults."""
    listed = await connected.list_tools()
    return {
        tool.name: _described(tool.model_dump(mode="json", by_alias=True, exclude_none=True)) for tool in listed.tools
    }


def _described(tool: dict[str, Any]) -> dict[str, Any]:
    hints = tool.get("annotations", {})
    seen = {key: hints.get(key, HINTS[key]) for key in HINTS}
    if seen["readOnlyHint"]:
        del seen["destructiveHint"]  # it means nothing beside the other
    return {
        "title": tool.get("title") or hints.get("title") or "",
        "description": SAFETY.sub("", tool.get("description", "")),
        "inputSchema": tool["inputSchema"],
        "outputSchema": tool.get("outputSchema"),
        **seen,
    }


async def _answer(play: Play, connected: Client, name: str, arguments: dict[str, Any]) -> Answer:
    reported: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    try:
        given = await connected.call_tool(name, arguments, progress_callback=note)
        result = given.model_dump(mode="json", by_alias=True, exclude_none=True)
        result["_meta"] = {key: value for key, value in result.pop("_meta", {}).items() if not key.startswith(OURS)}
    except MCPError as error:
        result = {"code": error.error.code, "message": error.error.message, "data": error.error.data}
    return Answer(name, json.dumps(arguments), _steady(play, name, result), reported)


def _steady(play: Play, name: str, result: Any) -> Any:
    """The result without what differs from run to run."""
    if name == "get-env" and not result.get("isError"):  # who starts a server decides what else it is given
        given = json.loads(result["content"][0]["text"])
        return {key: given.get(key) for key in play.environment}
    if isinstance(result, str):
        for pattern in play.varies:
            result = re.sub(pattern, VARIES, result)
        return result
    if isinstance(result, dict):
        return {key: _steady(play, "", value) for key, value in result.items()}
    if isinstance(result, list):
        return [_steady(play, "", value) for value in result]
    return result


async def _accept(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - as the SDK names them
    return ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def _sample(context: Any, params: Any) -> CreateMessageResult:  # noqa: ARG001 - as the SDK names them
    return CreateMessageResult(role="assistant", content=TextContent(text="said by a model"), model="scripted")
