"""`search_tools` and `activate_tools`: how a model finds the tools that it is not shown (DEFER-2)."""

import json
from typing import cast

from interlock_gateway.core.content import Text
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.outcome import Invocation, ToolOutcome
from interlock_gateway.core.tool import ToolCapability, ToolDefinition, ToolMetadata, description_for_model
from interlock_gateway.errors import ProviderFailedError, RequestError
from interlock_gateway.registry.catalog import DISCOVERY_TOOLS
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.discovery import DEFAULT_RESULTS, MAX_NAMES, MAX_RESULTS, Discovery
from interlock_gateway.sessions.live import LiveSession

SHORT = 300
"""So much of a description is shown of a tool that was found, in characters; activated, it is shown whole."""

# They change what the session is shown, and nothing else: nothing to preview, to journal or to undo.
_LOOKING = ToolMetadata(read_only=True, concurrency_safe=True, audit_operation="read")

DEFINITIONS = (
    ToolDefinition(
        name="search_tools",
        description=(
            "Find tools that are not listed, by what they do. Not all tools are listed; search before you say that "
            "there is none. What is found is callable once activate_tools was given its name."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "Words about what the tool should do."},
                "max_results": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_RESULTS,
                    "description": f"Most tools to find; {DEFAULT_RESULTS} unless said.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        metadata=_LOOKING,
        capability=ToolCapability(),
        prompt_snippet="search_tools: find tools that are not listed here",
        prompt_guidelines=("Not every tool is listed: find others with search_tools, then use activate_tools.",),
    ),
    ToolDefinition(
        name="activate_tools",
        description="Make tools that search_tools found callable in this session; shows how each is called.",
        input_schema={
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_NAMES},
            },
            "required": ["names"],
            "additionalProperties": False,
        },
        metadata=_LOOKING,
        capability=ToolCapability(),
        prompt_snippet="activate_tools: make tools that were found callable",
    ),
)


class DiscoveryTools:
    """Runs the two tools for the session that calls them."""

    def __init__(self, discovery: Discovery, sessions: SessionBook, confidence_field: str) -> None:
        self._discovery = discovery
        self._sessions = sessions
        self._confidence_field = confidence_field

    def has(self, tool: str) -> bool:
        """Whether this is one of the two."""
        return tool in DISCOVERY_TOOLS

    async def execute(self, invocation: Invocation) -> ToolOutcome:
        """Run one of the two."""
        arguments = cast("JsonObject", json.loads(invocation.input))
        live = self._sessions.in_memory(invocation.session_id)
        if live is None:
            raise ProviderFailedError("the session of this call is not there any more")
        try:
            if invocation.tool == "search_tools":
                return await self._search(live, arguments)
            return await self._activate(live, arguments)
        except RequestError as error:
            return ToolOutcome(content=(Text(error.message),), is_error=True, tool_error=True)

    async def _search(self, live: LiveSession, arguments: JsonObject) -> ToolOutcome:
        most = arguments.get("max_results")
        hits = await self._discovery.search(live, str(arguments["query"]), most if isinstance(most, int) else 0)
        if not hits:
            return ToolOutcome(content=(Text("No deferred tool matches; try other words."),))
        lines = [f"- {hit.tool.name}: {_short(self._description(hit.tool))}" for hit in hits]
        text = "\n".join(("activate_tools makes these callable, best first:", *lines))
        return ToolOutcome(content=(Text(text),))

    async def _activate(self, live: LiveSession, arguments: JsonObject) -> ToolOutcome:
        names = cast("list[str]", arguments["names"])
        activated = await self._discovery.activate(live, names)
        blocks = [self._shown(tool) for tool in activated.tools]
        if activated.unknown:
            blocks.append(f"This session has no tool named {', '.join(map(_quoted, activated.unknown))}.")
        text = "\n\n".join(blocks)
        return ToolOutcome(content=(Text(text),), is_error=not activated.tools, tool_error=not activated.tools)

    def _shown(self, tool: RegisteredTool) -> str:
        schema = json.dumps(dict(tool.shown.input_schema), ensure_ascii=False)
        return f"{tool.name} is callable now.\n{self._description(tool)}\nInput: {schema}"

    def _description(self, tool: RegisteredTool) -> str:
        return description_for_model(tool.shown, self._confidence_field)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 3]}..."


def _quoted(name: str) -> str:
    return repr(name[:100].encode("unicode_escape").decode())
