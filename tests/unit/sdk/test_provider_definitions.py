"""What tools declare, and how it reaches the gateway."""

import json
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from interlock.provider import (
    ToolProvider,
    tool,
)
from interlock.v1 import tool_pb2, undo_pb2


@dataclass
class Count:
    words: int


class Size(TypedDict):
    bytes: int


@pytest.mark.req("SDK-1")
def test_a_tool_that_declares_nothing_has_neither_metadata_nor_capability() -> None:
    @tool
    def bare() -> str:
        return ""

    (made,) = ToolProvider([bare]).describe().tools
    assert not made.HasField("metadata")
    assert not made.HasField("capability")
    assert not made.HasField("result_limits")
    assert not made.HasField("timeout")


@pytest.mark.req("SDK-1")
def test_everything_of_the_contract_can_be_declared() -> None:
    @tool(
        name="full",
        aliases=["f"],
        title="Full",
        description="All of it.",
        concurrency_safe=False,
        read_only=False,
        destructive=True,
        open_world=True,
        permission_class="file",
        audit_operation="write",
        requires_checkpoint=True,
        requires_reverse_thinking=False,
        search_hint="everything",
        knows_workdir=True,
        reversible=True,
        undo_tool="empty",
        min_confidence=70,
        affected_resources=["files"],
        max_result_bytes=100,
        max_result_lines=5,
        truncation="head_tail",
        timeout=1.5,
        prompt_snippet="full: everything",
        prompt_guidelines=["be careful"],
    )
    def full() -> str:
        return ""

    @full.dry_run
    def preview() -> str:
        return "nothing"

    (made,) = ToolProvider([full]).describe().tools
    expected = tool_pb2.ToolDefinition(
        name="full",
        aliases=["f"],
        title="Full",
        description="All of it.",
        input_schema=made.input_schema,
        metadata=tool_pb2.ToolMetadata(
            concurrency_safe=False,
            read_only=False,
            destructive=True,
            open_world=True,
            permission_class="file",
            audit_operation="write",
            requires_checkpoint=True,
            requires_reverse_thinking=False,
            search_hint="everything",
            knows_workdir=True,
        ),
        capability=tool_pb2.ToolCapability(
            dry_run=True,
            reversible=True,
            undo_method=undo_pb2.UNDO_METHOD_TOOL,
            undo_tool="empty",
            min_confidence=70,
            affected_resources=["files"],
        ),
        result_limits=tool_pb2.ResultLimits(
            max_bytes=100, max_lines=5, strategy=tool_pb2.TRUNCATION_STRATEGY_HEAD_TAIL
        ),
        prompt_snippet="full: everything",
        prompt_guidelines=["be careful"],
    )
    expected.timeout.FromMilliseconds(1500)
    assert made == expected


@pytest.mark.req("SDK-1")
def test_a_tool_stays_the_function_that_it_was() -> None:
    @tool(read_only=True)
    def add(a: int, b: int = 1) -> str:
        return str(a + b)

    assert add(2) == "3"
    assert add(a=2, b=2) == "4"


@pytest.mark.req("SDK-1")
def test_a_dataclass_or_a_typed_dict_that_is_returned_is_the_output_schema() -> None:
    @tool
    def count() -> Count:
        return Count(1)

    @tool
    def size() -> Size:
        return {"bytes": 1}

    first, second = ToolProvider([count, size]).describe().tools
    assert json.loads(first.output_schema)["properties"] == {"words": {"type": "integer"}}
    assert json.loads(second.output_schema)["properties"] == {"bytes": {"type": "integer"}}


@pytest.mark.parametrize("declared", [{"name": "a b"}, {"name": ""}, {"aliases": ["ü"]}, {"min_confidence": 101}])
def test_a_declaration_out_of_range_is_refused_when_the_tool_is_written(declared: Any) -> None:
    with pytest.raises(ValueError, match=r"tool name|min_confidence"):
        tool(**declared)(lambda: "x")


def test_a_name_that_is_there_twice_is_refused_naming_both() -> None:
    @tool(aliases=["peek"])
    def look() -> str:
        return ""

    @tool
    def peek() -> str:
        return ""

    with pytest.raises(ValueError, match="'peek' names both look and peek"):
        ToolProvider([look, peek])
