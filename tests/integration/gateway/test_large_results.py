"""Large results (RES-1 to RES-5): what is returned of them, and what is said about the rest."""

import json
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from answering_tools import LINES, ROWS, Answers, answering, uri_of
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.provider import Image, ToolResult
from interlock_gateway.config import LimitsConfig, PolicyConfig


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
async def large(socket_directory: Path, answers: Answers) -> AsyncIterator[Bench]:
    """A gateway before tools that answer with much."""
    async with bench(socket_directory, tools=lambda _: answering(answers)) as at:
        yield at


@pytest.mark.req("RES-1", "RES-3", "RES-4")
async def test_a_head_is_whole_lines_and_says_in_exact_words_how_to_read_on(large: Bench) -> None:
    session = large.agent.session("s")
    result = await session.call("head", {})
    total = len(LINES.encode())
    kept, _, notice = result.text.rpartition("\n")
    uri = uri_of(session, LINES)
    assert notice == f'[...truncated, {total} bytes total — use read_artifact("{uri}") for the rest]'
    assert LINES.startswith(kept + "\n")
    assert 16 * 1024 - 20 < len(kept.encode()) <= 16 * 1024
    assert result.truncated
    assert result.artifact is not None
    assert (result.artifact.uri, result.artifact.total_bytes, result.artifact.lines) == (uri, total, 5000)
    assert result.artifact.media_type == "text/plain; charset=utf-8"
    assert (await session.read_artifact(uri)).text == LINES


@pytest.mark.req("RES-2", "RES-3")
async def test_head_and_tail_say_in_the_middle_what_is_missing(large: Bench) -> None:
    session = large.agent.session("s")
    text = (await session.call("both_ends", {})).text
    head, rest = text.split("[... ")
    notice, tail = rest.split(" ...]\n")
    omitted = len(LINES.encode()) - len(head.encode()) - len(tail.encode())
    assert notice == f'{omitted} bytes omitted — use read_artifact("{uri_of(session, LINES)}") to read them'
    assert LINES.startswith(head)
    assert LINES.endswith(tail)


@pytest.mark.req("RES-2")
async def test_a_table_keeps_whole_rows_their_number_and_the_columns(large: Bench) -> None:
    text = (await large.agent.session("s").call("table", {})).text
    assert "2000 rows" in text
    assert "name, size" in text
    assert '{"name": "row 0", "size": 0}' in text
    assert "use read_artifact(" in text


@pytest.mark.req("RES-2")
async def test_lines_are_limited_too(large: Bench, answers: Answers) -> None:
    answers.text = "a\nb\nc\nd\n"
    session = large.agent.session("s")
    uri = uri_of(session, "a\nb\nc\nd\n")
    text = (await session.call("three_lines", {})).text
    assert text == f'a\nb\nc\n[...truncated, 8 bytes total — use read_artifact("{uri}") for the rest]'


@pytest.mark.req("RES-1", "RES-4")
@pytest.mark.parametrize("size", [0, 1, 16 * 1024])
async def test_what_fits_is_returned_as_it_is(large: Bench, answers: Answers, size: int) -> None:
    answers.text = "x" * size
    result = await large.agent.session("s").call("head", {})
    assert (result.text, result.truncated, result.artifact) == ("x" * size, False, None)


@pytest.mark.req("RES-1")
async def test_a_cut_never_halves_a_character(large: Bench, answers: Answers) -> None:
    answers.text = "x" + "😀" * 5000
    result = await large.agent.session("s").call("head", {})
    assert result.text.partition("\n")[0] == "x" + "😀" * 4095


@pytest.mark.req("RES-1", "POL-4")
async def test_policy_limits_results_further(socket_directory: Path, answers: Answers) -> None:
    overlay = socket_directory / "overlay"
    overlay.mkdir()
    (overlay / "data.yaml").write_text("settings:\n  results:\n    max_bytes_by_tool: {head: 100, both_ends: 9999}\n")
    policy = PolicyConfig(overlays=(overlay,))
    async with bench(socket_directory, tools=lambda _: answering(answers), policy=policy) as at:
        session = at.agent.session("s")
        text = (await session.call("head", {})).text
        assert len(text.rpartition("[...")[0].encode()) <= 100
        # What is more than the tool's own limit does not lift it.
        assert len((await session.call("both_ends", {})).text.encode()) < 1200


PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 3000


@pytest.mark.req("RES-5")
async def test_other_parts_pass_untouched_up_to_their_limit_and_become_artifacts_above_it(
    socket_directory: Path, answers: Answers
) -> None:
    limits = LimitsConfig(max_part_bytes=2000)
    async with bench(socket_directory, tools=lambda _: answering(answers), limits=limits) as at:
        session = at.agent.session("s")
        answers.result = ToolResult(content=["a picture", Image(PICTURE[:1000])], data={"n": 1.5, "é": [None]})
        small = await session.call("anything", {})
        assert (small.content[1].data, small.data, small.truncated) == (PICTURE[:1000], {"n": 1.5, "é": [None]}, False)
        answers.result = ToolResult(content=["a picture", Image(PICTURE)], data=ROWS)
        big = await session.call("anything", {})
        assert [part.kind.value for part in big.content] == ["text", "resource", "resource"]
        picture, rows = big.content[1:]
        assert (picture.media_type, picture.size_bytes, picture.uri) == ("image/png", 3008, uri_of(session, PICTURE))
        assert (await session.read_artifact(picture.uri)).data == PICTURE
        assert json.loads((await session.read_artifact(rows.uri)).data) == ROWS
        assert (big.data, big.truncated, big.artifact is not None) == (None, True, True)


@pytest.mark.req("RES-1", "RES-4")
@pytest.mark.parametrize("fault", ["full", "gone"])
async def test_what_cannot_be_stored_is_said_and_shortened_all_the_same(
    large: Bench, answers: Answers, socket_directory: Path, fault: str
) -> None:
    answers.text = "y" * 2_000_000
    session = large.agent.session("s")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    if fault == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limit[1]))
    else:
        store = socket_directory / "state" / "artifacts"
        store.rename(socket_directory / "moved")
        store.write_bytes(b"")
    try:
        result = await session.call("head", {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    kept, _, notice = result.text.partition("\n")
    why = "the artifact store is full" if fault == "full" else "the artifact store cannot be written"
    assert notice == f"[...truncated, 2000000 bytes total — the rest could not be stored: {why}]"
    assert len(kept) == 16 * 1024
    assert (result.status, result.truncated, result.artifact) == (CallStatus.COMPLETED, False, None)
    if fault == "full":
        assert (await session.call("head", {})).artifact is not None
