"""The gateway's own tools as a provider inside the process. They go through the pipeline like every other tool."""

import json
from typing import cast

from interlock_gateway.artifacts.errors import ArtifactError, ArtifactNotFoundError
from interlock_gateway.artifacts.search import Match, SearchQuery
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.core.content import Text
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import DryRun, Invocation, Rendering, Resolution, ToolOutcome
from interlock_gateway.core.tool import ResultLimits, ToolCapability, ToolDefinition, ToolMetadata
from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.gatewaytools.discovery import DEFINITIONS as DISCOVERY_DEFINITIONS
from interlock_gateway.gatewaytools.discovery import DiscoveryTools
from interlock_gateway.pipeline.resolution import RESOLVE_SCHEMA
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.registry.registry import GATEWAY_PROVIDER

PAGE_BYTES = 14 * 1024
"""A page of an artifact stays under the default result limit, so that it is not itself cut."""

_URI: JsonObject = {"type": "string", "description": "The artifact's URI, as a shortened result gives it."}
_READING = ToolMetadata(concurrency_safe=True, read_only=True, audit_operation="read")

DEFINITIONS = (
    ToolDefinition(
        name="resolve",
        description=(
            "Apply or discard the previewed change on top of the stack. "
            "Nothing that was previewed has happened until you call this with action=apply."
        ),
        input_schema=RESOLVE_SCHEMA,
        metadata=ToolMetadata(audit_operation="edit"),
        capability=ToolCapability(),
        prompt_snippet="resolve: apply or discard a previewed change",
        prompt_guidelines=("A preview changes nothing. Read it, then call resolve to apply or discard it.",),
    ),
    ToolDefinition(
        name="read_artifact",
        description="Read lines of a stored result that was too large to return whole; or bytes, where a line is long.",
        input_schema={
            "type": "object",
            "properties": {
                "uri": _URI,
                "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines."},
                "byte_offset": {"type": "integer", "minimum": 0, "description": "First byte, from 0; not with offset."},
                "byte_limit": {"type": "integer", "minimum": 1, "description": "How many bytes, with byte_offset."},
            },
            "required": ["uri"],
            "not": {"required": ["offset", "byte_offset"]},
            "additionalProperties": False,
        },
        metadata=_READING,
        capability=ToolCapability(),
        result_limits=ResultLimits(max_bytes=2 * PAGE_BYTES),
        prompt_snippet="read_artifact: page through a result that was too large to return",
    ),
    ToolDefinition(
        name="search_artifact",
        description="Search a stored result for a text or an RE2 expression, with lines of context.",
        input_schema={
            "type": "object",
            "properties": {
                "uri": _URI,
                "pattern": {"type": "string", "minLength": 1, "description": "What to look for, within one line."},
                "regex": {"type": "boolean", "description": "Whether the pattern is an RE2 expression."},
                "ignore_case": {"type": "boolean"},
                "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around a match."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Most matches."},
            },
            "required": ["uri", "pattern"],
            "additionalProperties": False,
        },
        metadata=_READING,
        capability=ToolCapability(),
        prompt_snippet="search_artifact: search a result that was too large to return",
    ),
    *DISCOVERY_DEFINITIONS,
)


class GatewayTools:
    """Runs the gateway's own tools, but for `resolve`, which is the pipeline's own affair."""

    name = GATEWAY_PROVIDER

    def __init__(self, artifacts: ArtifactStore, discovery: DiscoveryTools) -> None:
        self._artifacts = artifacts
        self._discovery = discovery

    async def ready(self, deadline_s: float) -> None:
        """It always is."""

    async def execute(self, invocation: Invocation, on_event: EventSink = ignore_events) -> ToolOutcome:
        """Run the tool; an artifact must belong to the session that asks (ART-1)."""
        del on_event
        if self._discovery.has(invocation.tool):
            return await self._discovery.execute(invocation)
        arguments = cast("JsonObject", json.loads(invocation.input))
        uri = str(arguments["uri"])
        try:
            if parse_uri(uri).session_id != invocation.session_id:
                raise ArtifactNotFoundError("there is no such artifact in this session")
            if invocation.tool == "read_artifact":
                return await self._read(uri, arguments)
            return await self._search(uri, arguments)
        except ArtifactError as error:
            return ToolOutcome(content=(Text(error.message),), is_error=True, tool_error=True)

    async def dry_run(self, invocation: Invocation) -> DryRun:
        """None of these tools can be previewed."""
        raise ProviderFailedError(f"{invocation.tool} cannot be previewed")

    async def render_call(self, invocation: Invocation) -> Rendering:
        """The gateway shows their input as it is."""
        raise ProviderFailedError(f"{invocation.tool} has no words of its own")

    async def render_result(self, invocation: Invocation, outcome: ToolOutcome) -> Rendering:
        """As above."""
        del outcome
        raise ProviderFailedError(f"{invocation.tool} has no words of its own")

    async def generate_undo(self, invocation: Invocation, outcome: ToolOutcome) -> UndoInfo | None:
        """Nothing to undo."""
        del invocation, outcome
        return None

    async def apply_pending(self, resolution: Resolution) -> ToolOutcome:
        """The gateway pushes no pending action of its own."""
        raise ProviderFailedError(f"{resolution.source_tool} has nothing to apply")

    async def reject_pending(self, resolution: Resolution) -> ToolOutcome | None:
        """As above."""
        del resolution
        return None

    async def _read(self, uri: str, arguments: JsonObject) -> ToolOutcome:
        if "byte_offset" in arguments:
            return await self._read_bytes(uri, _whole(arguments, "byte_offset", 0), _whole(arguments, "byte_limit", 0))
        first, limit = _whole(arguments, "offset", 1), _whole(arguments, "limit", 0)
        page = await self._artifacts.read_lines(uri, first, limit)
        kept = page.data
        last, more = page.last, page.more
        if len(kept) > PAGE_BYTES:
            whole, newline, _ = kept[:PAGE_BYTES].rpartition(b"\n")
            if not newline:
                return await self._read_bytes(uri, page.offset, 0)
            kept = whole + newline
            last, more = page.first + kept.count(b"\n") - 1, True
        text = kept.decode("utf-8", "replace")
        if not text:
            total = (await self._artifacts.stat(uri)).total_lines
            return ToolOutcome(content=(Text(f"There is no line {first}: the artifact has {total} lines."),))
        note = f"\n[Showing lines {page.first}-{last}, use offset={last + 1} to continue]" if more else ""
        return ToolOutcome(content=(Text(text.rstrip("\n") + note if note else text),))

    async def _read_bytes(self, uri: str, offset: int, limit: int) -> ToolOutcome:
        """A page of bytes, for lines that are longer than a page. It ends between two characters."""
        total = (await self._artifacts.stat(uri)).total_bytes
        kept = await self._artifacts.read_bytes(uri, offset, min(limit or PAGE_BYTES, PAGE_BYTES))
        if not kept:
            return ToolOutcome(content=(Text(f"There is no byte {offset}: the artifact has {total} bytes."),))
        end = len(kept) if offset + len(kept) >= total else whole_characters(kept)
        text = kept[:end].decode("utf-8", "replace")
        after = offset + end
        note = f"\n[Showing bytes {offset}-{after - 1} of {total}, use byte_offset={after} to continue]"
        return ToolOutcome(content=(Text(text + note if after < total else text),))

    async def _search(self, uri: str, arguments: JsonObject) -> ToolOutcome:
        query = SearchQuery(
            pattern=str(arguments["pattern"]),
            regex=arguments.get("regex") is True,
            ignore_case=arguments.get("ignore_case") is True,
            context=_whole(arguments, "context", 0),
            limit=_whole(arguments, "limit", 50),
        )
        found = await self._artifacts.search(uri, query)
        lines = [line for match in found.matches for line in _shown(match)]
        if not lines:
            lines = [f"No line matches, of {found.lines_searched} searched."]
        if found.more_matches:
            lines.append("[More lines match; narrow the pattern or raise the limit]")
        if found.timed_out:
            lines.append("[The search took too long and stopped here]")
        return ToolOutcome(content=(Text("\n".join(lines)),))


def whole_characters(data: bytes) -> int:
    """How much of `data` is whole characters of UTF-8; all of it where that cannot be told."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:  # noqa: PLR2004 - where a character begins
            wanted = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4  # noqa: PLR2004 - UTF-8
            return len(data) if wanted <= back or back == len(data) else len(data) - back
    return len(data)


def _whole(arguments: JsonObject, name: str, default: int) -> int:
    value = arguments.get(name, default)
    return int(value) if isinstance(value, int | float) else default


def _shown(match: Match) -> list[str]:
    first = match.line - len(match.before)
    before = [f"{first + index}- {text}" for index, text in enumerate(match.before)]
    after = [f"{match.line + 1 + index}- {text}" for index, text in enumerate(match.after)]
    return [*before, f"{match.line}: {match.text}", *after]
