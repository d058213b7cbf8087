"""What is refused is said in words that a model can act on."""

import pytest
from interlock_gateway.errors import RequestError
from interlock_gateway.pipeline.resolution import RESOLVE_SCHEMA
from interlock_gateway.pipeline.schema import CompiledSchema
from interlock_gateway.transport.grpc.decode import MAX_LABEL_KEY, MAX_LABEL_VALUE, labels


@pytest.mark.req("PREV-3")
@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_blank_reason_is_called_blank(reason: str) -> None:
    problems = CompiledSchema(RESOLVE_SCHEMA).problems({"action": "apply", "reason": reason})
    assert problems == ("input.reason: must not be empty or blank",)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("", "x", "the label '' does not fit"),
        ("env", "x" * (MAX_LABEL_VALUE + 1), "the label 'env' does not fit"),
        ("k" * (MAX_LABEL_KEY + 1), "x", f"these have {MAX_LABEL_KEY + 1} and 1"),
    ],
)
def test_a_label_that_does_not_fit_is_named(key: str, value: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        labels({"team": "a", key: value}, "labels")
