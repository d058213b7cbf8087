"""Input against the tool's JSON Schema (PIPE-4): draft 2020-12, compiled once per definition; nothing is fetched."""

import json
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import jsonschema_rs

from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue

MAX_REPORTED = 5
_MAX_MESSAGE = 300


class InvalidSchemaError(Exception):
    """A tool's schema cannot be compiled; the message says why."""


class InputValidator(Protocol):
    """A compiled schema."""

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Up to five failing paths, each in words a model can fix; empty when `value` is valid."""
        ...


class CompiledSchema:
    """A schema compiled by jsonschema-rs, with its linear-time regular expressions and no way out to the network."""

    __slots__ = ("_schema", "_validator")

    def __init__(self, schema: FrozenJsonObject) -> None:
        self._schema = schema
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                dict(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
            )
        except (ValueError, TypeError) as error:
            raise InvalidSchemaError(str(error).split("\n", 1)[0]) from None

    @property
    def text(self) -> bytes:
        """The schema as JSON, so that it can be compiled elsewhere."""
        return json.dumps(dict(self._schema)).encode()

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Up to five failing paths, each in words a model can fix; empty when `value` is valid."""
        if self._validator.is_valid(value):
            return ()
        errors = islice(self._validator.iter_errors(value), MAX_REPORTED)
        return tuple(f"{_path(error.instance_path)}: {error.message[:_MAX_MESSAGE]}" for error in errors)


def _path(parts: Sequence[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return f"input{text}"
