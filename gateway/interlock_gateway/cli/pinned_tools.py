"""What the gateway of this state directory knows of a tool, for commands that decide without one."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from interlock_gateway.config import Config
from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.registry.effective import classified_by_operator, floored
from interlock_gateway.registry.fingerprint import definition_of
from interlock_gateway.registry.pins import Pin

_SQLITE = "sqlite:///"
_PINS = "SELECT provider, tool, sha256, definition, pinned_at, approved_by FROM pins WHERE tool = ? ORDER BY pinned_at"


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A definition as its provider declared it when it was pinned, and as far as that provider is believed."""

    provider: str
    declared: ToolDefinition
    believed: ToolDefinition


def pinned_tool(name: str, config: Config) -> PinnedTool | None:
    """The newest pin of a tool of a configured provider; `None` when there is none, or no SQLite database here."""
    for pin in reversed(_pins(name, config)):
        spec = next((one for one in config.providers if one.name == pin.provider), None)
        if spec is None:
            continue
        try:
            declared = definition_of(json.loads(pin.definition_json))
        except ValueError:
            continue
        if spec.is_floored and not pin.by_a_person:
            by_operator = classified_by_operator(name, config.tools)
            return PinnedTool(pin.provider, declared, floored(declared, keep_class=not by_operator))
        return PinnedTool(pin.provider, declared, declared)
    return None


def _pins(name: str, config: Config) -> list[Pin]:
    database = config.at_state(config.state.database)
    path = Path(database.removeprefix(_SQLITE))
    if not database.startswith(_SQLITE) or not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            rows = connection.execute(_PINS, (name,)).fetchall()
    except sqlite3.Error:
        return []
    return [
        Pin(provider, tool, sha256, definition.decode(), at, by) for provider, tool, sha256, definition, at, by in rows
    ]
