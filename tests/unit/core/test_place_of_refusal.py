"""Whatever is refused in an input is named together with its place (PIPE-3)."""

import json
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.core.document import InvalidDocumentError, parse

BIG = 2**53
DEEP = '{"a":' * 63 + '[{"b":[' + "]}]" + "}" * 63
BEYOND_PYTHON = '{"é":' * 100_000
REFUSED = {
    "NaN": ('{"a":[1,{"b":NaN}]}', "NaN is not a JSON number (at /a/1/b)"),
    "Infinity outermost": ('{"x":-Infinity}', "-Infinity is not a JSON number (at /x)"),
    "in what is no object": ("[1,NaN]", "NaN is not a JSON number (at /1)"),
    "a bare NaN": ("NaN", "NaN is not a JSON number (at the outermost value)"),
    "out of range": ('{"a":[[0.5,1e400]]}', "number 1e400 is out of range (at /a/0/1)"),
    "too large an integer": (
        f'{{"ids":[1,{BIG}]}}',
        f"integer {BIG} is beyond 2^53-1 and would lose digits; send it as a string (at /ids/1)",
    ),
    "twice, outermost": ('{"path":1,"path":1}', 'input has the key "path" more than once (at /path)'),
    "twice, within": (
        '{"edits":[{},{"path":1,"q":2,"\\u0070ath":3}]}',
        'input has the key "path" more than once (at /edits/1/path)',
    ),
    "twice, with another fault in it": (
        '{"edits":[{"a":NaN,"a":1}]}',
        'input has the key "a" more than once (at /edits/0/a)',
    ),
    "the first of several": ('{"a":[1,{"b":1e999}],"c":NaN,"c":1}', "more than once (at /c)"),
    "a surrogate": (
        '{"a":{"b":["x","\\ud800"]}}',
        "input has a lone surrogate (\\ud800-\\udfff), which is not a character (at /a/b/1)",
    ),
    "a surrogate in a key": ('{"a":{"\\udc00x":1}}', "which is not a character (at /a/<U+DC00>x)"),
    "nesting": (DEEP, "input nests deeper than 64 levels (at " + "/a" * 63 + "/0)"),
    "nesting beyond what can be read": (BEYOND_PYTHON, f"input nests deeper than 64 levels (byte {64 * 6})"),
    "nesting behind brackets in a text": (
        '{"s":"[[\\"{","é":' + '{"a":' * 100_000,
        f"input nests deeper than 64 levels (byte {18 + 63 * 5})",
    ),
    "odd keys": ('{"a/b":{"m~n":[NaN]}}', "(at /a~1b/m~0n/0)"),
    "keys that move a terminal": ('{"a\\u001b[2K":NaN}', "(at /a<U+001B>[2K)"),
    "no end": ('{"a":NaN,', "input is not valid JSON: Expecting property name enclosed in double quotes (byte 9)"),
}


@pytest.mark.req("PIPE-3")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_named_with_its_place(case: str) -> None:
    text, wanted = REFUSED[case]
    with pytest.raises(InvalidDocumentError) as refused:
        parse(text.encode(), max_depth=64)
    assert refused.value.message.endswith(wanted)


@pytest.mark.req("PIPE-3")
def test_a_place_behind_long_names_is_cut_and_says_so() -> None:
    with pytest.raises(InvalidDocumentError) as refused:
        parse(json.dumps({"k" * 5000: float("nan")}).encode(), max_depth=64)
    assert len(refused.value.message) < 300
    assert refused.value.message.endswith("k...)")


@pytest.mark.req("PIPE-3")
@settings(deadline=None, max_examples=50)
@given(st.lists(st.one_of(st.integers(0, 3), st.from_regex("[a-z]{1,5}", fullmatch=True)), max_size=20))
def test_the_place_is_found_wherever_it_is(path: list[str | int]) -> None:
    written = "NaN"
    for step in reversed(path):
        written = (
            "[" + "0," * step + written + ",0]" if isinstance(step, int) else f'{{"-":[{{}}],"{step}":{written},"+":1}}'
        )
    with pytest.raises(InvalidDocumentError) as refused:
        parse(b'{"top":' + written.encode() + b"}", max_depth=64)
    assert refused.value.message.endswith("(at " + "".join(f"/{step}" for step in ["top", *path]) + ")")


@pytest.mark.req("REL-7")
def test_looking_for_the_place_takes_no_longer_than_a_few_readings() -> None:
    raw = b'{"a":[' + b"0," * 32_000 + b"NaN]}"
    began = process_time()
    with pytest.raises(InvalidDocumentError, match="at /a/32000"):
        parse(raw, max_depth=64)
    assert process_time() - began < 0.25
