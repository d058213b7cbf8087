import re
import time

import pytest
from artifact_stores import ManualClock
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.artifacts.errors import ArtifactSearchError
from interlock_gateway.artifacts.search import (
    MAX_LINE_BYTES,
    LineSearcher,
    Match,
    SearchQuery,
    SearchResult,
)


def search(data: bytes, query: SearchQuery, size: int = 1 << 20, clock: ManualClock | None = None) -> SearchResult:
    searcher = LineSearcher(query, clock or ManualClock())
    for start in range(0, len(data), size):
        if searcher.feed(data[start : start + size]):
            return searcher.result()
    searcher.finish()
    return searcher.result()


def expected(lines: list[str], pattern: str, context: int, limit: int) -> list[Match]:
    found: list[Match] = []
    offset = 0
    for number, line in enumerate(lines):
        # RE2's word boundaries are those of ASCII.
        if re.search(pattern, line, re.ASCII) and len(found) < limit:
            before = tuple(lines[max(0, number - context) : number])
            after = tuple(lines[number + 1 : number + 1 + context])
            found.append(Match(number + 1, offset, line, before, after))
        offset += len(line.encode()) + 1
    return found


LINES = st.lists(st.text(st.sampled_from("abcé x"), max_size=12), min_size=1, max_size=40)


@pytest.mark.req("ART-3")
@given(LINES, st.sampled_from(["a", "b c", "é", "x"]), st.integers(0, 3), st.integers(1, 5), st.integers(1, 70))
@settings(max_examples=300, deadline=None)
def test_a_literal_is_found_where_a_plain_reading_finds_it(
    lines: list[str], pattern: str, context: int, limit: int, size: int
) -> None:
    data = "\n".join(lines).encode()
    lines = lines[:-1] if lines[-1] == "" else lines
    result = search(data, SearchQuery(pattern, context=context, limit=limit), size)
    wanted = expected(lines, re.escape(pattern), context, limit)
    assert list(result.matches) == wanted
    assert result.more_matches == (len(expected(lines, re.escape(pattern), 0, 1000)) > len(wanted))


@pytest.mark.req("ART-3")
@given(
    LINES, st.sampled_from(["^a", "b$", "^$", "a+b?", "[^a]c", "^.$", "(?i)A B", r"\bx\b", "a|é"]), st.integers(1, 70)
)
@settings(max_examples=300, deadline=None)
def test_a_regular_expression_matches_within_lines(lines: list[str], pattern: str, size: int) -> None:
    data = "\n".join(lines).encode()
    lines = lines[:-1] if lines[-1] == "" else lines
    result = search(data, SearchQuery(pattern, regex=True, limit=1000), size)
    assert [match.line for match in result.matches] == [it.line for it in expected(lines, pattern, 0, 1000)]


@pytest.mark.req("ART-3")
def test_context_crosses_the_pieces_that_a_file_comes_in() -> None:
    data = b"".join(b"line %d\n" % n for n in range(1, 100))
    for size in (1, 7, 8, 9, 50, 1000):
        (match,) = search(data, SearchQuery("line 50", context=2), size).matches
        assert match.before == ("line 48", "line 49")
        assert match.after == ("line 51", "line 52")


@pytest.mark.req("ART-3")
def test_case_is_ignored_when_asked() -> None:
    assert search(b"Hello\n", SearchQuery("hELLO")).matches == ()
    assert len(search(b"Hello\n", SearchQuery("hELLO", ignore_case=True)).matches) == 1


@pytest.mark.req("ART-3")
def test_a_literal_is_no_expression() -> None:
    assert [match.line for match in search(b"abc\na.c\n", SearchQuery("a.c")).matches] == [2]


@pytest.mark.req("ART-3", "SEC-3")
@pytest.mark.parametrize(
    ("query", "why"),
    [
        (SearchQuery(""), "empty"),
        (SearchQuery("(", regex=True), "RE2"),
        (SearchQuery("x)(y", regex=True), "RE2"),
        (SearchQuery(r"(a)\1", regex=True), "RE2"),
        (SearchQuery("(?=a)", regex=True), "RE2"),
        (SearchQuery("a\nb"), "line break"),
        (SearchQuery(r"\Aa", regex=True), "ends of a line"),
        (SearchQuery(r"(?i-s)a", regex=True), "ends of a line"),
        (SearchQuery("a" * 1001), "longer"),
        (SearchQuery("(x{100}){100}", regex=True), "RE2|complex"),
        (SearchQuery(r"[\p{L}]{500}", regex=True), "RE2|complex"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(query: SearchQuery, why: str) -> None:
    with pytest.raises(ArtifactSearchError, match=why):
        search(b"x", query)


@pytest.mark.req("ART-3")
def test_the_limit_ends_the_search_and_says_that_there_is_more() -> None:
    data = b"hit\nmiss\n" * 100
    result = search(data, SearchQuery("hit", limit=3, context=1))
    assert [match.line for match in result.matches] == [1, 3, 5]
    assert result.matches[-1].after == ("miss",)
    assert (result.more_matches, result.timed_out) == (True, False)
    whole = search(data, SearchQuery("hit", limit=100))
    assert (len(whole.matches), whole.more_matches, whole.lines_searched) == (100, False, 200)


@pytest.mark.req("ART-3")
def test_time_that_is_up_ends_the_search_with_what_it_has() -> None:
    data = b"hit\n" + b"miss\n" * 1_000_000
    result = search(data, SearchQuery("hit", timeout_s=3), 1 << 18, ManualClock(step=1.0))
    assert result.timed_out
    assert [match.line for match in result.matches] == [1]
    assert result.lines_searched < 1_000_000


@pytest.mark.req("ART-3")
def test_one_endless_line_is_searched_and_shown_around_the_match() -> None:
    line = b'{"k":1},' * 500_000
    for at in (0, 262_140, 270_000, 524_286, 3_999_990):
        data = b"first\n" + line[:at] + b"NEEDLE" + line[at:] + b"\nlast NEEDLE\n"
        result = search(data, SearchQuery("NEEDLE"), 1 << 18)
        assert [(match.line, match.offset) for match in result.matches] == [(2, 6), (3, len(line) + 13)]
        assert "NEEDLE" in result.matches[0].text
        assert len(result.matches[0].text) <= MAX_LINE_BYTES


@pytest.mark.req("ART-3")
def test_an_excerpt_does_not_end_in_half_a_character() -> None:
    data = ("é" * 10_000 + "x" + "é" * 10_000).encode()
    (match,) = search(data, SearchQuery("x")).matches
    assert set(match.text) == {"é", "x"}


@pytest.mark.req("ART-3")
def test_bytes_that_are_no_text_are_searched_too() -> None:
    result = search(b"\xff\xfe abc\n\x00\x01\nabc", SearchQuery("abc"))
    assert [match.line for match in result.matches] == [1, 3]
    assert result.matches[0].text == "\ufffd\ufffd abc"


@pytest.mark.req("ART-3", "SEC-3")
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*a*b", "(.*a){20}b", "([a-z]+)*!"])
def test_no_pattern_takes_more_than_linear_time(pattern: str) -> None:
    began = time.process_time()
    search(b"a" * 2_000_000, SearchQuery(pattern, regex=True, timeout_s=1e9))
    assert time.process_time() - began < 5
