"""Whose the tools of a list are, where one list has those of several MCP servers: their names say it, or nothing does.

A definition that is taken for another tool's would have calls of that one decided by it. So what could be two servers'
is nobody's (EXT-1, TOOL-5).
"""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

DELIMITER = "_"
"""What stands between a server's name and a tool's."""
LONGEST_SHOWN, MOST_SHOWN = 63, 10
_log = logging.getLogger(__name__)


def owners_in(listed: Sequence[Any], services: Sequence[str], prefix_mode: str) -> list[tuple[str, str] | None]:
    """For each name of a list, its server and its name there; `None` where that cannot be told.

    `prefix_mode` is agentgateway's: `conditional`, `always` or `never`.
    """
    often = Counter(name for name in listed if isinstance(name, str))
    names = [name if isinstance(name, str) and often[name] == 1 else "" for name in listed]
    if len(services) == 1 and prefix_mode != "always":
        return [(services[0], name) if name else None for name in names]
    found = [[one for one in services if name.startswith(f"{one}{DELIMITER}")] for name in names]
    if prefix_mode == "never" or any(name and not of for name, of in zip(names, found, strict=True)):
        # Names that begin with no server's do not begin with any: those that seem to are called so by chance, or on
        # purpose.
        shown = ", ".join(one[:LONGEST_SHOWN] for one in sorted(services)[:MOST_SHOWN])
        _log.warning("a list does not say whose tools it has", extra={"services": shown})
        return [None] * len(names)
    return [
        (of[0], name.removeprefix(f"{of[0]}{DELIMITER}")) if len(of) == 1 else None
        for name, of in zip(names, found, strict=True)
    ]
