"""Finding tools by words (DEFER-2): what is found, in which order, and how fast among thousands."""

import random
import time

import pytest
from interlock_gateway.core.tool import PinState, ToolDefinition, ToolMetadata
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.registry.registered import RegisteredTool, register
from interlock_gateway.registry.schemas import schema_of
from interlock_gateway.registry.search import ToolIndex, indexed, words_of


def tool(name: str, description: str = "", hint: str = "", **fields: object) -> RegisteredTool:
    definition = ToolDefinition(
        name=name,
        description=description,
        input_schema={},
        metadata=ToolMetadata(read_only=True, search_hint=hint),
        **fields,  # type: ignore[arg-type]  # the other fields of a definition
    )
    return register(
        provider="p",
        declared=definition,
        effective=definition,
        schema=schema_of(definition, SchemasAside()),
        sha256="",
        pin_state=PinState.PINNED,
        fact_arguments={},
    )


def found(query: str, *tools: RegisteredTool) -> list[str]:
    return [hit.tool.name for hit in ToolIndex(map(indexed, tools)).ranked(query)]


@pytest.mark.req("DEFER-2")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("readFile", ["read", "file"]),
        ("read_file-v2.beta/now", ["read", "file", "v2", "beta", "now"]),
        ("HTTPServer", ["httpserver"]),
        ("Größe \uff21\uff22\uff23", ["grösse", "abc"]),
        ("  ... ", []),
        ("文件 读取", ["文件", "读取"]),
    ],
)
def test_words_are_folded_and_taken_apart(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.req("DEFER-2")
def test_a_name_is_before_a_title_a_hint_and_a_description() -> None:
    tools = (
        tool("d", "about mail"),
        tool("c", hint="mail"),
        tool("b", title="Mail"),
        tool("mail_it"),
        tool("e", "nothing", aliases=("mail_alias",)),
    )
    assert found("mail", *tools) == ["e", "mail_it", "b", "c", "d"]


@pytest.mark.req("DEFER-2")
def test_the_very_name_comes_first_however_it_is_written() -> None:
    tools = (tool("read"), tool("read_file"), tool("read_file_lines", "read file read file", hint="read file"))
    for query in ("read_file", "readFile", "READ FILE", "readfile"):
        assert found(query, *tools)[0] == "read_file", query
    assert found("read", *tools)[0] == "read"


@pytest.mark.req("DEFER-2")
def test_what_has_all_of_the_words_is_before_what_has_one() -> None:
    tools = (tool("mail"), tool("x", "send a mail to people"))
    assert found("send mail people", *tools) == ["x", "mail"]


@pytest.mark.req("DEFER-2")
def test_beginnings_and_plurals_are_found() -> None:
    tools = (tool("calendar_event"), tool("mail"))
    assert found("cal", *tools) == ["calendar_event"]
    assert found("events", *tools) == ["calendar_event"]
    assert found("c", *tools) == []


@pytest.mark.req("DEFER-2")
def test_equal_ones_are_in_the_order_of_their_names_whatever_came_first() -> None:
    tools = [tool(f"tool_{n}", "does things") for n in range(50)]
    names = sorted(one.name for one in tools)
    for seed in range(3):
        random.Random(seed).shuffle(tools)
        assert found("things", *tools) == names


@pytest.mark.req("DEFER-2")
@pytest.mark.parametrize("query", ["", "  ", "!!!", "zzz", "\0", "a" * 1000, "\ud800", "x " * 500])
def test_any_query_has_an_answer(query: str) -> None:
    assert found(query, tool("mail")) == []


@pytest.mark.req("DEFER-2")
def test_ten_thousand_tools_are_searched_in_the_blink_of_an_eye() -> None:
    made = random.Random(7)
    words = [f"{made.choice('abcdefgh')}{made.randrange(3000):x}word" for _ in range(3000)]
    tools = [tool(f"tool_{n}", " ".join(made.choices(words, k=30)), hint=made.choice(words)) for n in range(10_000)]
    index = ToolIndex(map(indexed, tools))
    began = time.process_time()
    hits = index.ranked(f"tool {words[5]} {words[17]}")
    took_s = time.process_time() - began
    assert len(hits) == 10_000
    best = str(hits[0].tool.definition)
    assert words[5] in best or words[17] in best
    assert took_s < 1.0  # some 30 ms
