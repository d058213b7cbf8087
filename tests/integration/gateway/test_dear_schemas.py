"""A provider whose tools' schemas may take any time: its calls, and everybody else's (PIPE-4, REL-7)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench
from interlock import CallStatus
from interlock.v1 import tool_pb2
from interlock_gateway.pipeline import schemas_aside
from raw_provider import RawProvider, operating, raw_bench, reading, served, spec_of

TWICE: dict[str, Any] = {
    "properties": {"sum": {"$ref": "#/$defs/Sum"}, "more": {"type": "string"}},
    "additionalProperties": False,
    "$defs": {
        "Sum": {
            "anyOf": [
                {"type": "integer"},
                {"type": "object", "properties": {"of": {"items": {"$ref": "#/$defs/Sum"}}, "kind": {"const": "plus"}}},
                {
                    "type": "object",
                    "properties": {"of": {"items": {"$ref": "#/$defs/Sum"}}, "kind": {"const": "minus"}},
                },
            ]
        }
    },
}
"""Each level may be either kind, and both have a member of one name: nothing bounds it beforehand."""


def without_end(levels: int = 40) -> dict[str, Any]:
    ways = {f"a{at}": {"anyOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(levels)}
    return {"$defs": {**ways, f"a{levels}": {"required": ["z"]}}, "$ref": "#/$defs/a0"}


def encoded(schema: object) -> bytes:
    return json.dumps(schema).encode()


def nested(levels: int, last: object) -> object:
    for _ in range(levels):
        last = {"of": [last], "kind": "minus"}
    return last


@pytest.mark.req("PIPE-4", "PIPE-6", "REL-7", "TOOL-4")
async def test_a_call_whose_check_does_not_end_is_denied_and_others_are_answered_meanwhile(at: Bench) -> None:
    provider = RawProvider(reading("endless", input_schema=encoded(without_end())), reading("fine"))
    async with served(at.directory, provider) as server, operating(at) as admin:
        info = await admin.register_provider(spec_of(server))
        assert [warning.partition(":")[0] for warning in info.warnings] == [
            "endless of raw is checked in a process of its own, which takes longer"
        ]
        assert info.tools == 2
        agent = at.agent.session("s")
        asked = asyncio.create_task(agent.call("endless", {}))
        other = at.agent.session("other")
        answered = 0
        while not asked.done():
            assert (await other.call("fine", {})).text == "ran"
            answered += 1
        denied = await asked
        assert denied.status is CallStatus.DENIED
        assert denied.decision.reasons[0].code == "gateway_error.input_unchecked"
        assert answered > 1
        assert {invocation.tool for invocation in provider.ran} == {"fine"}


@pytest.mark.req("PIPE-4", "CONF-5", "REL-7")
async def test_a_schema_without_a_bound_is_checked_on_what_is_sent_and_the_process_ends_with_the_gateway(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas_aside, "ANSWER_S", 60.0)
    sure = tool_pb2.ToolCapability(min_confidence=50)
    async with raw_bench(socket_directory, reading("add", input_schema=encoded(TWICE), capability=sure)) as at:
        session = at.agent.session("s")
        for more in ({}, {"more": "x" * 100_000}):
            for levels in (0, 12):
                sent = {"sum": nested(levels, 1), **more}
                assert (await session.call("add", {**sent, "_flyto_confidence": 90})).text == "ran"
                assert json.loads(at.provider.ran[-1].input) == sent
        unfit = await session.call("add", {"sum": nested(3, None), "_flyto_confidence": 90})
        assert unfit.decision.reasons[0].code == "invalid_arguments"
        assert "input.sum" in unfit.text
        assert len(at.provider.ran) == 4
        (process,) = at.gateway.rooms.parts.registry.schemas.process_ids
    assert gone(process)


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()
