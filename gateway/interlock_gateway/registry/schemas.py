"""The input schemas of a provider's tools, read before anything is changed for them (PIPE-4, REL-7; decision 0131)."""

import asyncio
from collections.abc import Iterable

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.pipeline.input_schema import InputSchema
from interlock_gateway.pipeline.schema import InvalidSchemaError
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.registry.registered import RegisteredTool

READ_AT_ONCE = 32 * 1024
"""How many bytes of schemas are read before somebody else has a turn."""
ASIDE_S = 30.0
"""How long the schemas of one list of tools may take that are compiled aside."""
_NO_TIME = "its input schema was not read: those of other tools took all the time there is for a list of tools"
_ANY_OBJECT: FrozenJsonObject = {"type": "object"}


class Schemas:
    """What was read of one list of tools. It is for one registration."""

    def __init__(self, aside: SchemasAside, provider: str) -> None:
        self._aside = aside
        self._provider = provider
        self._found: dict[int, InputSchema | str] = {}

    async def read(self, declared: Iterable[ToolDefinition], known: Iterable[RegisteredTool]) -> None:
        """Read each schema; one that a tool of this name has already is not read again."""
        kept = {tool.name: tool.schema for tool in known}
        loop = asyncio.get_running_loop()
        left_s, since = ASIDE_S, 0
        for definition in declared:
            began = loop.time()
            found: InputSchema | str | None = kept.get(definition.name)
            if not isinstance(found, InputSchema) or not found.is_of(_wanted(definition)):
                found = await self._read(definition, left_s)
            self._found[id(definition)] = found
            if isinstance(found, str) or found.why_aside:
                left_s -= loop.time() - began
            since += len(found if isinstance(found, str) else found.text)
            if since > READ_AT_ONCE:
                since = 0
                await asyncio.sleep(0)

    def found(self, definition: ToolDefinition) -> InputSchema | str:
        """A definition's schema, or why its tool is refused."""
        return self._found[id(definition)]

    async def _read(self, definition: ToolDefinition, left_s: float) -> InputSchema | str:
        try:
            schema = InputSchema(_wanted(definition), self._aside)
            if schema.why_aside:
                if left_s <= 0:
                    return _NO_TIME
                await schema.check_aside(self._provider)
        except InvalidSchemaError as error:
            return f"its input schema is invalid: {error}"
        return schema


def schema_of(definition: ToolDefinition, aside: SchemasAside) -> InputSchema:
    """The schema of one of our own definitions."""
    return InputSchema(_wanted(definition), aside)


def _wanted(definition: ToolDefinition) -> FrozenJsonObject:
    return definition.input_schema or _ANY_OBJECT
