"""What a tool may be called (tool.proto, ToolDefinition)."""

import re

from interlock_gateway.core.tool import ToolDefinition

MAX_ALIASES = 16
_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")


def bad_name(definition: ToolDefinition) -> str | None:
    """Why a definition's names cannot be used, or `None`."""
    if len(definition.aliases) > MAX_ALIASES:
        return f"it has {len(definition.aliases)} aliases; at most {MAX_ALIASES} are accepted"
    for name in (definition.name, *definition.aliases):
        if not _NAME.fullmatch(name):
            shown = name[:40].encode("unicode_escape").decode()
            return f"'{shown}' is not a tool name: 1 to 128 characters of A-Z a-z 0-9 _ . / and -"
    return None
