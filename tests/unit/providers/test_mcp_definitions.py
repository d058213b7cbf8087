"""What an MCP server's annotations declare, and which tools cannot be used."""

from typing import Any

import pytest
from interlock_gateway.core.tool import Effect, ToolMetadata, classify
from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.providers.mcp.definitions import declared, definition_of

READS = ToolMetadata(read_only=True, concurrency_safe=True, open_world=True)


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, None),
        ({"title": "Search"}, None),
        ({"openWorldHint": False}, None),
        ({"idempotentHint": True}, None),
        ({"readOnlyHint": False}, None),
        ({"readOnlyHint": "yes"}, None),
        ({"readOnlyHint": 1}, None),
        ({"readOnlyHint": True}, READS),
        ({"readOnlyHint": True, "openWorldHint": False}, ToolMetadata(read_only=True, concurrency_safe=True)),
        ({"readOnlyHint": True, "openWorldHint": None}, READS),
        ({"destructiveHint": True}, ToolMetadata(destructive=True, open_world=True)),
        ({"destructiveHint": False}, ToolMetadata(open_world=True)),
        ({"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}, ToolMetadata()),
        (
            {"readOnlyHint": True, "destructiveHint": True},
            ToolMetadata(read_only=True, destructive=True, open_world=True),
        ),
    ],
)
@pytest.mark.req("MCP-2", "TOOL-1")
def test_hints_declare_what_they_say_and_what_is_left_out_is_taken_as_dangerous(
    hints: dict[str, Any], expected: ToolMetadata | None
) -> None:
    assert declared(hints) == expected


@pytest.mark.req("TOOL-1")
def test_a_tool_that_claims_to_read_and_to_destroy_counts_as_destructive() -> None:
    both = {"name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": True, "destructiveHint": True}}
    assert classify(definition_of(both, "")).effect is Effect.DESTRUCTIVE


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (7, "it has no name"),
        ({"inputSchema": {}}, "it has no name"),
        ({"name": 7}, "it has no name"),
        ({"name": "x", "inputSchema": []}, "its inputSchema is not a JSON object"),
        ({"name": "x", "outputSchema": "no"}, "its outputSchema is not a JSON object"),
        ({"name": "x", "description": "d" * 20_000}, "the description is larger than"),
        ({"name": "x", "inputSchema": {"title": "t" * 300_000}}, "a schema is larger than"),
    ],
)
@pytest.mark.req("MCP-2")
def test_a_tool_that_cannot_be_used_says_why(tool: Any, words: str) -> None:
    with pytest.raises(ProviderFailedError, match=words):
        definition_of(tool, "")


@pytest.mark.req("MCP-2")
def test_names_are_prefixed_and_titles_come_from_the_tool_or_its_annotations() -> None:
    found = definition_of({"name": "search", "inputSchema": {}, "annotations": {"title": "Search it"}}, "docs_")
    assert (found.name, found.title, found.description) == ("docs_search", "Search it", "")
    assert definition_of({"name": "x", "title": "T", "annotations": {"title": "A"}}, "").title == "T"
