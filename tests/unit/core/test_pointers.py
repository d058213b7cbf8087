from typing import Any

import pytest
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.core.pointers import InvalidPointerError, mask, parse_pointer

DOCUMENT: dict[str, Any] = {
    "rows": [{"ssn": "1", "n": 1}, {"ssn": "2"}, 3],
    "a/b": {"~": "tilde"},
    "": "empty",
    "*": {"deep": 1},
}


def masked(*pointers: str) -> JsonValue:
    return mask(DOCUMENT, [parse_pointer(pointer) for pointer in pointers], "X")[0]


@pytest.mark.req("RES-6")
def test_a_pointer_names_one_value() -> None:
    assert masked("/rows/0/ssn") == {**DOCUMENT, "rows": [{"ssn": "X", "n": 1}, {"ssn": "2"}, 3]}
    assert masked("/a~1b/~0") == {**DOCUMENT, "a/b": {"~": "X"}}
    assert masked("/") == {**DOCUMENT, "": "X"}
    assert masked("") == "X"


@pytest.mark.req("RES-6")
def test_a_star_names_every_one() -> None:
    assert masked("/rows/*/ssn") == {**DOCUMENT, "rows": [{"ssn": "X", "n": 1}, {"ssn": "X"}, 3]}
    assert masked("/*") == dict.fromkeys(DOCUMENT, "X")


@pytest.mark.req("RES-6")
@pytest.mark.parametrize("pointer", ["/nothing", "/rows/9", "/rows/-", "/rows/0/ssn/x", "/rows/01", "/rows/²"])
def test_a_pointer_to_nothing_changes_nothing(pointer: str) -> None:
    assert masked(pointer) == DOCUMENT


@pytest.mark.req("RES-6")
def test_what_was_masked_is_counted_and_known() -> None:
    _, masking = mask(DOCUMENT, [parse_pointer("/rows"), parse_pointer("/rows"), parse_pointer("/a~1b")], "X")
    assert masking.count == 2
    assert masking.scalars == {"1", "2", "3", "tilde"}


def test_what_is_no_pointer_is_refused() -> None:
    with pytest.raises(InvalidPointerError, match="rows"):
        parse_pointer("rows/0")
