"""Inputs against schemas that their providers chose: checked at once where that is short, else aside (PIPE-4)."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.core.document import Document, parse
from interlock_gateway.pipeline import schemas_aside
from interlock_gateway.pipeline.input_schema import InputSchema
from interlock_gateway.pipeline.schema import CompiledSchema, InvalidSchemaError
from interlock_gateway.pipeline.schemas_aside import UNSAID, SchemasAside
from tool_schemas import DEAR, ORDINARY, TEXT, JsonSchema, deep_chain, doubling, expression, expressions
from waiting import eventually

HANGS = 120.0
VALUES: tuple[JsonSchema, ...] = (
    {},
    {"root": {"value": 1}, "id": 1, "rows": 1, "steps": 1, "filter": 1, "labels": 1},
)


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much else this machine has to do."""
    monkeypatch.setattr(schemas_aside, "ANSWER_S", HANGS)


@asynccontextmanager
async def asking(spare_s: float = 10.0) -> AsyncIterator[SchemasAside]:
    aside = SchemasAside(spare_s)
    try:
        async with asyncio.timeout(HANGS):
            yield aside
    finally:
        aside.close()


def document(value: object) -> Document:
    return parse(json.dumps(value).encode(), max_depth=64)


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()


def levels(count: int) -> dict[str, object]:
    inner: dict[str, object] = {"b": 1}
    for _ in range(count - 1):
        inner = {"a": inner, "b": 1}
    return inner


@pytest.mark.req("PIPE-4")
@pytest.mark.parametrize("name", ORDINARY)
async def test_usual_calls_of_usual_tools_are_checked_and_explained_at_once(name: str) -> None:
    async with asking() as aside:
        schema = InputSchema(ORDINARY[name], aside)
        assert schema.why_aside == schema.note("x") == ""
        assert schema.free_bytes > 300
        for value in VALUES:
            found = schema.at_once(document(value))
            assert found == CompiledSchema(ORDINARY[name]).problems(value)
            assert await schema.problems(document(value), "me") == found
        # Of one long text there is not more to check than of a short one.
        assert schema.at_once(document({"x": "word " * 10_000})) is not None or name == "patterns"
        assert aside.process_ids == ()


@pytest.mark.req("PIPE-4", "REL-7")
@pytest.mark.parametrize("name", DEAR)
async def test_what_has_no_bound_is_never_checked_at_once_and_people_are_told(name: str) -> None:
    schema = InputSchema(DEAR[name], SchemasAside())
    assert schema.at_once(document({})) is None
    assert schema.for_reader(b"{}" * 100_000) == b""
    assert schema.why_aside in schema.note("x of y")


@pytest.mark.req("PIPE-4", "REL-7")
async def test_what_may_take_long_and_does_not_is_checked_all_the_same() -> None:
    async with asking() as aside:
        schema = InputSchema(expressions(2), aside)
        await schema.check_aside("its provider")
        assert await schema.problems(document(expression(12, 1)), "me") == ()
        (found,) = await schema.problems(document(expression(2, "x")), "me")
        assert found == CompiledSchema(expressions(2)).problems(expression(2, "x"))[0]
        assert len(aside.process_ids) == 1


@pytest.mark.req("PIPE-4", "REL-7", "PIPE-6")
async def test_what_takes_too_long_is_unchecked_or_unexplained_and_holds_nobody_up() -> None:
    async with asking() as aside:
        asked = asyncio.create_task(InputSchema(doubling(40), aside).problems(document({}), "me"))
        turns = 0
        while not (await asyncio.wait([asked], timeout=0.01))[0]:
            turns += 1
        assert turns > 5, "the loop went on"
        error = asked.exception()
        assert isinstance(error, DecisionError)
        assert error.code is GatewayErrorCode.INPUT_UNCHECKED
        assert await InputSchema(expressions(2), aside).problems(document(expression(20, "x")), "me") == (UNSAID,)
        assert await InputSchema(expressions(2), aside).problems(document(expression(20, 1)), "me") == ()


@pytest.mark.req("PIPE-4", "REL-7")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"items": {"anyOf": [TEXT, {"type": "null"}]}}}}, {"a": [1] * 30_000}),
        ({"properties": {"a": {"items": {"required": [f"r{at}" for at in range(400)]}}}}, {"a": [{}] * 10_000}),
        ({"properties": {"a": {"items": {"const": "x" * 100_000}}}}, {"a": [1] * 40}),
    ],
)
async def test_many_things_wrong_are_not_all_written_down_at_once(schema: JsonSchema, value: dict[str, object]) -> None:
    async with asking() as aside:
        checked = InputSchema(schema, aside)
        assert checked.why_aside == ""
        assert checked.at_once(document(value)) is None
        assert await checked.problems(document(value), "me")


@pytest.mark.req("PIPE-4", "REL-7")
async def test_a_pattern_is_held_against_long_texts_aside() -> None:
    schema: JsonSchema = {"properties": {"a": {"pattern": "^(?:a|b)*a(?:a|b){30}c"}}}
    async with asking() as aside:
        checked = InputSchema(schema, aside)
        assert checked.at_once(document({"a": "ab" * 16 + "c"})) is not None
        assert checked.at_once(document({"a": "ab" * 20_000})) is None
        assert await checked.problems(document({"a": "ab" * 20_000}), "me")
        with pytest.raises(DecisionError):
            await InputSchema(DEAR["a large pattern"], aside).problems(document({"a": "ab" * 30_000}), "me")


@pytest.mark.req("PIPE-4", "REL-7")
async def test_a_schema_that_ends_the_process_ends_that_one_alone() -> None:
    async with asking() as aside:
        schema = InputSchema(deep_chain(4000), aside)
        await schema.check_aside("its provider")
        before = aside.process_ids
        with pytest.raises(DecisionError):
            await schema.problems(document(levels(60)), "me")
        assert await schema.problems(document({"b": 1}), "me") == ()
        assert aside.process_ids != before


@pytest.mark.req("PIPE-4", "REL-7")
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/else.json"}, "Retrieval is disabled"),
        ({"$ref": "#/$defs/none"}, "does not exist"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, 'is not a "regex"'),
        ({"allOf": [{"pattern": f"^\\p{{L}}{{1,50}}x{at}$"} for at in range(400)]}, "too long, or too much memory"),
    ],
)
async def test_what_cannot_be_compiled_within_bounds_is_refused(schema: JsonSchema, why: str) -> None:
    async with asking() as aside:
        checked = InputSchema(schema, aside)
        assert checked.why_aside
        with pytest.raises(InvalidSchemaError, match=why):
            await checked.check_aside("its provider")
        await InputSchema(expressions(3), aside).check_aside("its provider")
    with pytest.raises(InvalidSchemaError):
        InputSchema({"type": "nothing"}, aside)


@pytest.mark.req("REL-7", "REL-8")
async def test_names_take_turns_and_whoever_gets_none_in_time_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    async def ask(aside: SchemasAside, name: str) -> None:
        await InputSchema(expressions(2), aside).problems(document({}), name)
        done.append(name)

    async with asking() as aside:
        await asyncio.gather(*(ask(aside, name) for name in ("greedy", "greedy", "greedy", "other")))
        assert done.index("other") < 2
        for process_id in aside.process_ids:
            os.kill(process_id, signal.SIGSTOP)  # else it may answer before anybody looks at the clock
        monkeypatch.setattr(schemas_aside, "ANSWER_S", 0.0)
        with pytest.raises(DecisionError):
            await ask(aside, "late")
        with pytest.raises(InvalidSchemaError):
            await InputSchema(expressions(2), aside).check_aside("late")
        many = document({"a": ["x"] * 9000})
        checked = InputSchema({"properties": {"a": {"items": {"type": "integer"}}}}, aside)
        assert await checked.problems(many, "late") == (UNSAID,), "that it is unfit is known all the same"
        monkeypatch.setattr(schemas_aside, "ANSWER_S", HANGS)
        await ask(aside, "later")


@pytest.mark.req("REL-7")
async def test_who_goes_meanwhile_leaves_no_answer_to_the_next_and_an_idle_process_ends() -> None:
    async with asking(spare_s=0.0) as aside:
        going = asyncio.create_task(InputSchema(doubling(40), aside).problems(document({}), "me"))
        await eventually(lambda: aside.process_ids != ())
        (process,) = aside.process_ids
        going.cancel()
        await asyncio.wait([going])
        assert await InputSchema(expressions(2), aside).problems(document(expression(3, 1)), "me") == ()
        await eventually(lambda: aside.process_ids == ())
        assert gone(process)
