"""Values against a JSON Schema (PIPE-4): draft 2020-12, compiled once per definition; nothing is fetched."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice

import jsonschema_rs

from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue

MAX_REPORTED = 5
MOST_PATTERN_BYTES = 10 * 1024 * 1024
"""How large one compiled pattern may be at all; it takes as many steps for each byte of a text as it has states."""
_NOT_BLANK = r'does not match "\S"'
_MAX_MESSAGE = 300
_PANICS = "the validator gives up on it"


class InvalidSchemaError(Exception):
    """A tool's schema cannot be compiled; the message says why."""


class CompiledSchema:
    """A schema compiled by jsonschema-rs, with its linear-time regular expressions and no way out to the network.

    What it takes to compile it and to check something depends on the schema alone, and may be without end: whoever
    has it from others asks `input_schema` for one. `is_valid` says whether a value fits.
    """

    __slots__ = ("_validator", "is_valid")

    def __init__(self, schema: FrozenJsonObject, *, pattern_bytes: int = MOST_PATTERN_BYTES) -> None:
        """Raises `InvalidSchemaError`, also when a pattern needs more than `pattern_bytes` compiled."""
        patterns = jsonschema_rs.RegexOptions(size_limit=pattern_bytes)
        try:
            self._validator = jsonschema_rs.Draft202012Validator(dict(schema), offline=True, pattern_options=patterns)
        except (ValueError, TypeError) as error:
            raise InvalidSchemaError(str(error).split("\n", 1)[0]) from None
        except BaseException as error:  # a panic of the native library is no `Exception`
            if type(error).__name__ != "PanicException":
                raise
            raise InvalidSchemaError(_PANICS) from None
        self.is_valid: Callable[[JsonValue], bool] = self._validator.is_valid

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Up to five failing paths, each in words a model can fix; empty when `value` is valid.

        All that fails is found first, with what fails further in for each alternative: it takes much longer than
        `is_valid`, and much memory.
        """
        if self.is_valid(value):
            return ()
        errors = islice(self._validator.iter_errors(value), MAX_REPORTED)
        return tuple(f"{_path(error.instance_path)}: {_words(error.message)[:_MAX_MESSAGE]}" for error in errors)


@lru_cache(maxsize=16)
def compiled_schema(schema: bytes) -> CompiledSchema:
    """A schema that is given as JSON, for who is asked about the same ones again. Raises `InvalidSchemaError`."""
    return CompiledSchema(json.loads(schema))


def _words(message: str) -> str:
    """What is wrong; the one pattern that the gateway's own tools have is said as what it means."""
    return "must not be empty or blank" if message.endswith(_NOT_BLANK) else message


def _path(parts: Sequence[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return f"input{text}"
