"""A tool's schema for its input, and where inputs are checked against it (PIPE-4, REL-7; decision 0131).

A provider says what the schema is, and an agent what the input: together they must not hold up anybody else. So what
takes few steps, whatever the two say, is done at once; anything else in a process that can be ended.
"""

import json
from typing import NamedTuple

from interlock_gateway.core.decision import DecisionError
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.pipeline.schema import CompiledSchema, InvalidSchemaError
from interlock_gateway.pipeline.schema_cost import Cost, cost_of
from interlock_gateway.pipeline.schema_graph import UnclearSchemaError
from interlock_gateway.pipeline.schemas_aside import UNSAID, SchemasAside

STEPS_AT_ONCE = 50_000
"""What is done on the event loop: some milliseconds."""
STEPS_BESIDE = 40_000_000
"""What is done in the process that reads large inputs, which others wait for, too: a few seconds."""
COUNTED_BYTES = 64 * 1024
"""In what is larger values are not counted: that takes up to 3 ns for each byte."""
EXPLAINED_AT_ONCE = 500
"""How many steps are explained on the event loop: each may end in an error, which takes a hundred times as long."""
WRITTEN_AT_ONCE = 4 * 1024 * 1024
"""How much may be written for that: an error has the value in its text, or what the schema would have liked better."""
PATTERN_SIZES = (4 * 1024, 64 * 1024, 256 * 1024)
BYTES_A_STEP = 512
"""A compiled pattern takes a step for so much of its size, for each byte of a text, at worst."""
MOST_COMPILED_BYTES = 2 * 1024 * 1024
"""How large all patterns of a schema may be together, for it to be kept by the gateway itself."""
ASIDE = -1


class _Here(NamedTuple):
    compiled: CompiledSchema
    cost: Cost
    pattern_bytes: int


class InputSchema:
    """One tool's schema. `text` is the schema as JSON; `why_aside` says why nothing is checked at once, or is empty.

    Inputs of up to `free_bytes` are checked at once without a further look at them.
    """

    __slots__ = ("_aside", "_here", "_per_byte", "free_bytes", "text", "why_aside")

    def __init__(self, schema: FrozenJsonObject, aside: SchemasAside) -> None:
        """Raises `InvalidSchemaError`. With `why_aside` nothing was compiled yet: that is what `check_aside` does."""
        self.text = _text(schema)
        self.why_aside = ""
        self._aside = aside
        self._here: _Here | None = None
        self._per_byte = 0
        self.free_bytes = ASIDE
        try:
            self._here = here = _compiled(schema)
        except UnclearSchemaError as error:
            self.why_aside = str(error)
            return
        self._per_byte = here.cost.held_against * (here.pattern_bytes // BYTES_A_STEP)
        self.free_bytes = 2 * STEPS_AT_ONCE // (here.cost.steps + 2 * self._per_byte)

    def is_of(self, schema: FrozenJsonObject) -> bool:
        """Whether it is the same schema, member by member."""
        return self.text == _text(schema)

    def at_once(self, document: Document) -> tuple[str, ...] | None:
        """Up to five failing paths; `None` when that has to be found out aside, with `found_aside`."""
        here, raw = self._here, document.raw
        if here is None or (len(raw) > self.free_bytes and not self._is_short(here, raw)):
            return None
        if here.compiled.is_valid(document.value):
            return ()
        errors = here.cost.steps * most_values(raw)
        if errors <= EXPLAINED_AT_ONCE and errors * (len(raw) + len(self.text)) <= WRITTEN_AT_ONCE:
            return here.compiled.problems(document.value)
        return None

    async def found_aside(self, document: Document, name: str) -> tuple[str, ...]:
        """Up to five failing paths. `name` takes turns with others. Raises `DecisionError` (`input_unchecked`)."""
        try:
            return await self._aside.problems(self.text, document.raw, name)
        except DecisionError:
            here = self._here
            if here is None or not self._is_short(here, document.raw) or here.compiled.is_valid(document.value):
                raise
            return (UNSAID,)

    async def problems(self, document: Document, name: str) -> tuple[str, ...]:
        """As `at_once` if that can be, otherwise as `found_aside`."""
        found = self.at_once(document)
        return found if found is not None else await self.found_aside(document, name)

    async def check_aside(self, name: str) -> None:
        """Compile it aside, to see that it can be. `name` takes turns with others. Raises `InvalidSchemaError`."""
        await self._aside.check_schema(self.text, name)

    def note(self, tool: str) -> str:
        """What people should know of a tool with this schema; empty when there is nothing."""
        if not self.why_aside:
            return ""
        return f"{tool} is checked in a process of its own, which takes longer: its input schema {self.why_aside}"

    def for_reader(self, raw: bytes) -> bytes:
        """The schema as JSON, when whoever reads this large input may check it as well; empty otherwise."""
        here = self._here
        return self.text if here is not None and self._steps(here, raw) <= STEPS_BESIDE else b""

    def _is_short(self, here: _Here, raw: bytes) -> bool:
        return len(raw) <= self.free_bytes or self._steps(here, raw) <= STEPS_AT_ONCE

    def _steps(self, here: _Here, raw: bytes) -> int:
        return here.cost.steps * most_values(raw) + self._per_byte * len(raw)


def _text(schema: FrozenJsonObject) -> bytes:
    return json.dumps(dict(schema)).encode()


def most_values(raw: bytes) -> int:
    """No fewer values than there are in a JSON text: each but the first follows one of these, and has a byte itself."""
    if len(raw) > COUNTED_BYTES:
        return 1 + len(raw) // 2
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _compiled(schema: FrozenJsonObject) -> _Here:
    """The schema, compiled here. Raises `UnclearSchemaError`, and `InvalidSchemaError`."""
    cost = cost_of(schema)
    error: InvalidSchemaError | None = None
    for size in PATTERN_SIZES if cost.patterns else PATTERN_SIZES[:1]:
        if cost.patterns * size > MOST_COMPILED_BYTES:
            break
        try:
            return _Here(CompiledSchema(schema, pattern_bytes=size), cost, size if cost.patterns else 0)
        except InvalidSchemaError as tried:
            # It says the same of a pattern that is too large and of one that is none.
            error = tried
    if error is not None and not cost.patterns:
        raise error
    raise UnclearSchemaError("has large patterns, or many")
