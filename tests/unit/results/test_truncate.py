import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from interlock_gateway.core.tool import TruncationStrategy
from interlock_gateway.results.table import summarize_table
from interlock_gateway.results.truncate import TextLimit, WholeText, exceeds, shorten

URI = "artifact://s-1/" + "ab" * 32
STORED = WholeText(uri=URI)
UNSTORED = WholeText(failure="the artifact store is full")
HEAD_NOTICE = re.compile(r"\[\.\.\.truncated, (\d+) bytes total — (.*)\]$")
MIDDLE_NOTICE = re.compile(r"\n?\[\.\.\. (\d+) bytes omitted — (.*?) \.\.\.\]\n")
TEXTS = st.text(st.sampled_from(list("abé漢😀\n\r ")), min_size=1, max_size=400)
LIMITS = st.integers(0, 200)
LINES = st.integers(0, 12)


@pytest.mark.req("RES-3")
def test_a_head_says_how_much_there_is_and_how_to_read_on() -> None:
    text = "".join(f"line {n}\n" for n in range(100)).encode()
    assert shorten(text, TextLimit(20), STORED) == (
        f'line 0\nline 1\n[...truncated, {len(text)} bytes total — use read_artifact("{URI}") for the rest]'
    )


@pytest.mark.req("RES-3")
def test_head_and_tail_say_in_the_middle_what_is_missing() -> None:
    text = "".join(f"line {n}\n" for n in range(100)).encode()
    assert shorten(text, TextLimit(40, strategy=TruncationStrategy.HEAD_TAIL), STORED) == (
        f'line 0\nline 1\n[... {len(text) - 30} bytes omitted — use read_artifact("{URI}") to read them ...]\n'
        "line 98\nline 99\n"
    )


@pytest.mark.req("RES-1", "RES-3")
def test_what_could_not_be_stored_is_said() -> None:
    text = b"x" * 100
    assert shorten(text, TextLimit(10), UNSTORED) == (
        "xxxxxxxxxx\n[...truncated, 100 bytes total — the rest could not be stored: the artifact store is full]"
    )
    assert shorten(text, TextLimit(10, strategy=TruncationStrategy.HEAD_TAIL), UNSTORED) == (
        "xxxxx\n[... 90 bytes omitted — the rest could not be stored: the artifact store is full ...]\nxxxxx"
    )


@pytest.mark.req("RES-2")
def test_a_line_limit_counts_lines() -> None:
    text = b"a\nb\nc\nd\n"
    assert not exceeds(text, TextLimit(100, 4))
    assert exceeds(text, TextLimit(100, 3))
    assert shorten(text, TextLimit(100, 3), STORED).startswith("a\nb\nc\n[...truncated, 8 bytes total")
    shown = shorten(text, TextLimit(100, 2, TruncationStrategy.HEAD_TAIL), STORED)
    assert MIDDLE_NOTICE.split(shown) == ["a", "4", f'use read_artifact("{URI}") to read them', "d\n"]


@pytest.mark.req("RES-1", "RES-2")
@given(TEXTS, LIMITS, LINES)
@settings(max_examples=200, deadline=None)
def test_a_head_is_a_prefix_within_its_limits_cut_between_characters(text: str, size: int, lines: int) -> None:
    encoded, limit = text.encode(), TextLimit(size, lines)
    assume(exceeds(encoded, limit))
    shown = shorten(encoded, limit, STORED)
    notice = HEAD_NOTICE.search(shown)
    assert notice is not None
    assert int(notice[1]) == len(encoded)
    kept = shown[: notice.start()]
    kept = kept if text.startswith(kept) else kept.removesuffix("\n")
    assert text.startswith(kept)
    assert len(kept.removesuffix("\n").encode()) <= size
    assert lines == 0 or kept.removesuffix("\n").count("\n") < lines
    shown.encode()


@pytest.mark.req("RES-1", "RES-2", "RES-3")
@given(TEXTS, LIMITS, LINES)
@settings(max_examples=200, deadline=None)
def test_head_and_tail_are_both_ends_and_the_count_between_them_is_exact(text: str, size: int, lines: int) -> None:
    encoded, limit = text.encode(), TextLimit(size, lines, TruncationStrategy.HEAD_TAIL)
    assume(exceeds(encoded, limit))
    shown = shorten(encoded, limit, STORED)
    notice = MIDDLE_NOTICE.search(shown)
    assert notice is not None
    omitted = int(notice[1])
    tail = shown[notice.end() :]
    head = text[: len(text) - len(tail)].encode()[: len(encoded) - len(tail.encode()) - omitted].decode()
    assert text.endswith(tail)
    assert shown.startswith(head)
    assert len(head.encode()) + omitted + len(tail.encode()) == len(encoded)
    assert len(head.encode()) <= size // 2
    assert len(tail.encode()) <= size // 2


@pytest.mark.req("RES-1")
@given(st.integers(10, 3000), st.integers(1, 30))
def test_a_cut_falls_on_a_line_boundary_when_lines_are_short(size: int, width: int) -> None:
    assume(size >= 2 * (width + 1))
    text = (("x" * width + "\n") * 4000).encode()
    shown = shorten(text, TextLimit(size), STORED)
    kept = shown[: shown.index("[...truncated")]
    assert kept.endswith("x\n")
    assert text.decode().startswith(kept)
    assert len(kept) > size - width - 2


@pytest.mark.req("RES-1")
def test_one_long_line_is_not_lost_for_a_short_one_before_it() -> None:
    text = ("title\n" + "x" * 5000).encode()
    shown = shorten(text, TextLimit(1000), STORED)
    assert shown.startswith("title\n" + "x" * 994 + "\n[...truncated")


ROWS = [{"id": n, "name": f"row {n}", "é": None} for n in range(100)]


@pytest.mark.req("RES-2")
def test_a_table_shows_its_first_rows_its_size_and_its_columns() -> None:
    text = json.dumps(ROWS, ensure_ascii=False).encode()
    shown = shorten(text, TextLimit(200, strategy=TruncationStrategy.TABLE), STORED)
    heading, *rest = shown.split("\n")
    assert heading == "100 rows; columns: id, name, é; showing the first 3"
    assert json.loads("\n".join(rest[:3])) == ROWS[:3]
    assert rest[3] == f'[...truncated, {len(text)} bytes total — use read_artifact("{URI}") for the rest]'


@pytest.mark.req("RES-2")
def test_a_line_limit_of_a_table_counts_rows() -> None:
    text = json.dumps(ROWS).encode()
    shown = shorten(text, TextLimit(100_000, 2, TruncationStrategy.TABLE), STORED)
    assert shown.startswith("100 rows; columns: id, name, é; showing the first 2\n")


@pytest.mark.req("RES-2")
@pytest.mark.parametrize("text", ["[1, 2", '{"a": [1]}', "[1] tail", "no table", "[1,, 2]", "[" * 5000, "[1 2]"])
def test_what_is_no_table_is_shortened_as_text(text: str) -> None:
    assert summarize_table(text.encode(), 10_000, 0) is None
    long = (text + " " * 200).encode()
    shown = shorten(long, TextLimit(50, strategy=TruncationStrategy.TABLE), STORED)
    assert shown.startswith(text[:30])


@pytest.mark.req("RES-2")
@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=4), max_size=40), st.integers(0, 300)
)
@settings(max_examples=200, deadline=None)
def test_a_table_keeps_its_limit_and_counts_every_row(rows: list[dict[str, str]], size: int) -> None:
    summary = summarize_table(json.dumps(rows).encode(), size, 0)
    if summary is not None:
        assert len(summary.encode()) <= size
        assert summary.startswith(f"{len(rows)} rows")
        head, _, shown = summary.partition("\n")
        count = int(head.rsplit(" ", 1)[1])
        assert (json.loads(shown) if shown.strip() else []) == rows[:count]


@pytest.mark.req("RES-2")
def test_rows_without_names_have_no_columns() -> None:
    assert summarize_table(b"[1, 2, 3]", 100, 2) == "3 rows; showing the first 2\n[1,\n2]\n"
