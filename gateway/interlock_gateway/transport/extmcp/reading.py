"""Params and results as JSON, read so that nobody else could read them otherwise (SEC-1)."""

import json
import math
from typing import Any, NoReturn

from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.errors import RequestError, RequestFault

MAX_DEPTH = 200
PARAMS_DEPTH = 4
"""How deep in params the arguments of a call lie, with room for what stands around them in other requests."""


def read_params(raw: bytes, max_depth: int) -> dict[str, Any]:
    """The params of a request, which is what policy will see. Raises `RequestError` for what is not strict JSON."""
    try:
        return parse(raw or b"{}", max_depth=max_depth + PARAMS_DEPTH).value
    except InvalidDocumentError as error:
        raise RequestError(RequestFault.INVALID_FIELD, f"the params are refused: {error.message}") from None


def read_result(raw: bytes) -> dict[str, Any]:
    """A result. Raises `ValueError` for what is no object of JSON, has a member twice, or nests too deep.

    So it does for what could not be written out again: numbers that are out of range, and halves of characters.
    Integers may be as large as they like: a result is not decided about.
    """
    try:
        value = json.loads(raw, object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
        if b"\\u" in raw:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it nests too deep") from None
    if not isinstance(value, dict) or _nests_deeper(value, MAX_DEPTH):
        raise ValueError("it is no object, or nests too deep")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a member is there twice")
    return made


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range")
    return number


def _nests_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
