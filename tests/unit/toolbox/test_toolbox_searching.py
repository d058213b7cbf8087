"""Search by ripgrep and by Python: the same lines, within the same bounds."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from interlock.toolbox.expressions import BadExpressionError, Expression, expression
from interlock.toolbox.operations import LineMatch, SearchBudget
from interlock.toolbox.searching import PythonSearch, RipgrepSearch, SearchStoppedError, SearchTimeoutError
from toolbox_workplaces import Workplace


def budget(most: int = 1000, seconds: float = 30) -> SearchBudget:
    return SearchBudget(most, time.monotonic() + seconds, lambda: False)


class NoFallback(PythonSearch):
    """Fails the test where ripgrep was to do it."""

    def lines(self, *_: object) -> list[tuple[LineMatch, ...] | None]:
        raise AssertionError("ripgrep could not do it")


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("two", [2]),
        ("^t", [2, 3]),
        ("e$", [1, 3]),
        ("^$", [5]),
        (r"\bone\b", [1]),
        ("(?i)ONE", [1]),
        ("é", [4]),
        (".", [1, 2, 3, 4]),
        ("[^a-z]", [4]),
        ("t(wo|hree)", [2, 3]),
        ("z{0}$", [1, 2, 3, 4, 5]),
    ],
)
def test_the_lines_are_found_that_the_pattern_matches(workplace: Workplace, pattern: str, lines: list[int]) -> None:
    workplace.put("a.txt", "one\r\ntwo\nthree\né\n\n".encode())

    (found,) = workplace.operations.search.lines([workplace.at("a.txt")], expression(pattern), budget())

    assert found is not None
    assert [match.number for match in found] == lines


@pytest.mark.parametrize(
    "pattern", ["(?=a)", r"(a)\1", "[[:alpha:]]", "[[a]", "[a--b]", "(", r"a\Z", "a{2000}", "", "x" * 2001, "(?>a)"]
)
def test_what_only_one_of_the_engines_knows_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(BadExpressionError):
        expression(pattern)


def test_a_literal_is_found_as_it_is(workplace: Workplace) -> None:
    workplace.put("a.txt", b"a.b\naxb\n[x]\n")

    def numbers(text: str) -> list[int]:
        (found,) = workplace.operations.search.lines([workplace.at("a.txt")], expression(text, literal=True), budget())
        return [match.number for match in found or ()]

    assert (numbers("a.b"), numbers("[x]")) == ([1], [3])


def test_what_is_no_text_is_left_out(workplace: Workplace) -> None:
    workplace.put("binary", b"one\0two")
    workplace.put("late", b"x" * 9000 + b"\n\0one\n")
    workplace.put("latin", b"one \xe9\n")
    places = [workplace.at(name) for name in ("binary", "late", "latin", "missing")]

    found = workplace.operations.search.lines(places, expression("one"), budget())

    assert found == [None, (LineMatch(2, "\0one"),), (LineMatch(1, "one \ufffd"),), None]


def test_no_more_of_a_file_is_reported_than_asked_for(workplace: Workplace) -> None:
    workplace.put("a.txt", b"one\n" * 50)

    (found,) = workplace.operations.search.lines([workplace.at("a.txt")], expression("one"), budget(most=3))

    assert found is not None
    assert [match.number for match in found] == [1, 2, 3]


def test_a_pattern_that_would_match_for_ever_is_ended_in_time(local: Workplace) -> None:
    local.put("a.txt", b"a" * 100 + b"!\n")
    started = time.monotonic()

    with pytest.raises(SearchTimeoutError):
        PythonSearch(local.files).lines([local.at("a.txt")], expression("(a|a)+$"), budget(seconds=0.5))

    assert time.monotonic() - started < 30


def test_a_search_that_nobody_wants_is_ended(local: Workplace) -> None:
    local.put("a.txt", b"a" * 100 + b"!\n")
    nobody = SearchBudget(10, time.monotonic() + 60, lambda: True)

    with pytest.raises(SearchStoppedError):
        PythonSearch(local.files).lines([local.at("a.txt")], expression("(a|a)+$"), nobody)


def test_an_expression_too_large_for_ripgrep_is_done_in_python(
    local: Workplace, program: Callable[[str], Path]
) -> None:
    local.put("a.txt", b"abc\n")
    search = RipgrepSearch(local.files, str(program("rg")), PythonSearch(local.files))

    (found,) = search.lines([local.at("a.txt")], expression("(.{100}){100}|b"), budget())

    assert found == (LineMatch(1, "abc"),)


PIECE = st.sampled_from(
    ["a", "B", "é", ".", r"\w", r"\d", r"\s", r"\W", r"\b", r"\B", "^", "$", "[a-c]", "[^a]", "[^é]", "k", "b", "c"]
)
PATTERN = st.recursive(
    st.lists(PIECE, min_size=1, max_size=4).map("".join),
    lambda inner: st.one_of(
        inner.map(lambda one: f"({one})*"),
        inner.map(lambda one: f"(?:{one})?"),
        inner.map(lambda one: f"(?i:{one}){{1,2}}"),
        st.tuples(inner, inner).map("|".join),
    ),
    max_leaves=4,
)
ASCII = [b"a", b"b", b"B", b"K", b" ", b"1", b"_", b"\t", b"\n", b"\r\n", b"\x0b"]
LETTERS = ["é".encode(), "É".encode(), "\u212a".encode(), "\u2028".encode()]
BROKEN = [b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\x85"]
CONTENT = st.lists(st.sampled_from(ASCII + LETTERS + BROKEN), max_size=12).map(b"".join)


@pytest.mark.req("BOX-7")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=PATTERN, contents=st.lists(CONTENT, min_size=1, max_size=6), ignore_case=st.booleans())
@example(pattern="^$", contents=[b"", b"\n", b"\n\n", b"a\n", b"a", b"\r\n"], ignore_case=False)
@example(pattern="[^é]$", contents=["é\n\xff\nk".encode("latin-1")], ignore_case=True)
def test_ripgrep_and_python_find_the_same(
    local: Workplace,
    program: Callable[[str], Path],
    pattern: str,
    contents: list[bytes],
    *,
    ignore_case: bool,
) -> None:
    for index, content in enumerate(contents):
        local.put(f"{index}.txt", content)
    places = [local.at(f"{index}.txt") for index in range(len(contents))]
    wanted: Expression = expression(pattern, ignore_case=ignore_case)

    search = RipgrepSearch(local.files, str(program("rg")), NoFallback(local.files))
    with_ripgrep = search.lines(places, wanted, budget())
    without = PythonSearch(local.files).lines(places, wanted, budget())

    assert with_ripgrep == without


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="ab()[]{}*+?|^$\\.-&~:,01PwdsbA<>=!#", max_size=10))
def test_a_pattern_is_understood_or_refused_and_nothing_else(text: str) -> None:
    with contextlib.suppress(BadExpressionError):
        expression(text)
