"""From type hints to JSON Schema and back to arguments; the two have to agree."""

import dataclasses
import enum
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock.provider import Arg, ToolContext, tool
from interlock.provider._schema import BadArguments, shape_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict):
    name: str
    depth: NotRequired[int]


HINTS: list[Any] = [
    str,
    int,
    float,
    bool,
    None,
    Any,
    list,
    dict,
    list[int],
    Sequence[str],
    dict[str, int],
    Mapping[str, list[bool]],
    str | None,
    int | str | None,
    list[int] | Point,
    Literal["a", "b"],
    Literal[1, "1", True] | None,
    Colour,
    Point,
    Options,
    list[Point],
    Annotated[int, Arg(min=1, max=5)],
    Annotated[float, "a share", Arg(min=0.0, max=1.0)],
    Annotated[str, Arg(min_length=1, max_length=3)],
    Annotated[list[int], Arg(min_length=1, max_length=2)],
    Annotated[int, Arg(min=1)] | None,
]

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 7)
    | st.sampled_from([0.5, 1.0, 2.0, 1e300])
    | st.sampled_from(["", "a", "b", "1", "red", "abcd", "name"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "name", "depth", "z"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_the_schema_accepts_exactly_what_the_reader_accepts(hint: Any) -> None:
    shape = shape_of(hint)
    validator = jsonschema_rs.validator_for(shape.schema)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(VALUES)
    def check(value: Any) -> None:
        try:
            shape.read(value, "it")
        except BadArguments:
            assert not validator.is_valid(value)
        else:
            assert validator.is_valid(value)

    check()


@pytest.mark.req("SDK-1")
def test_a_schema_is_a_closed_object_of_draft_2020_12_with_what_is_known() -> None:
    @tool
    def look(
        path: Annotated[str, "Where to look", Arg(fact="path")],
        ctx: ToolContext,
        depth: Annotated[int, Arg(min=1, max=9)] = 3,
        mode: Literal["all", "new"] = "all",
    ) -> str:
        """Look somewhere.

        Args:
            depth: how deep, in
                directories
        """
        return f"{path} {depth} {mode} {ctx.tool}"

    assert look.description == "Look somewhere."
    assert look.input_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to look", "x-interlock-fact": "path"},
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "description": "how deep, in directories",
                "default": 3,
            },
            "mode": {"type": "string", "enum": ["all", "new"], "default": "all"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    jsonschema_rs.meta.validate(look.input_schema)


@pytest.mark.req("SDK-1")
def test_what_is_wrong_is_said_in_words_with_the_place_and_at_most_five_times() -> None:
    with pytest.raises(BadArguments) as caught:
        shape_of(Options).read({"depth": "2", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, "options")
    assert caught.value.problems[0] == "options.depth must be an integer, not '2'"
    assert caught.value.problems[1] == "options.a is not known (known: name, depth)"
    assert len(caught.value.problems) == 5


@pytest.mark.req("SDK-1")
def test_structured_arguments_arrive_as_their_types() -> None:
    assert shape_of(list[Point]).read([{"x": 1}], "it") == [Point(1, 0)]
    assert shape_of(Colour).read("red", "it") is Colour.RED
    assert shape_of(int).read(3.0, "it") == 3


class Recursive(TypedDict):
    child: "Recursive"


@pytest.mark.parametrize("hint", [bytes, set[int], dict[int, str], complex, Recursive])
def test_a_hint_that_json_cannot_hold_is_refused_when_the_tool_is_written(hint: Any) -> None:
    with pytest.raises(TypeError):
        shape_of(hint)


def test_a_parameter_without_a_hint_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="the parameter path needs a type hint"):

        @tool
        def look(path) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001 -- this is the mistake
            return str(path)


def test_a_parameter_that_cannot_be_passed_by_name_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be passed by name"):

        @tool
        def look(*paths: str) -> str:
            return str(paths)


def test_schemas_are_json() -> None:
    assert all(json.dumps(shape_of(hint).schema) for hint in HINTS)
