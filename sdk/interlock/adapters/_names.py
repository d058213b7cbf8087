"""Names of tools as models' APIs take them, and back."""

import hashlib
import re
from collections.abc import Iterable

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
LONGEST = 64


class Names:
    """What each tool is called towards a model: its own name where the APIs take it, else one made of it.

    The gateway's names may have `.` and `/` in them and 128 characters, the APIs' have at most 64 of A-Z a-z 0-9 _ -.
    A name once given stays with its tool, so that none that is registered later takes calls that were meant for it.

    >>> names = Names()
    >>> names.give(["fs.read", "read"])
    {'fs_read': 'fs.read', 'read': 'read'}
    >>> names.tool("fs_read"), names.tool("write")
    ('fs.read', 'write')
    """

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._given: dict[str, str] = {}

    def give(self, tools: Iterable[str]) -> dict[str, str]:
        """The tools by the names that they have from now on, in the order given."""
        tools = list(tools)
        # Those that need no other name come first: none is taken from them by one that is made.
        for tool in sorted(tools, key=lambda tool: _plain(tool) != tool):
            if tool not in self._given:
                name = self._free(tool)
                self._tools[name], self._given[tool] = tool, name
        return {self._given[tool]: tool for tool in tools}

    def _free(self, tool: str) -> str:
        """A name that no tool has: a tool may be called what another's would be made into, by whoever chose it so."""
        name = plain = _plain(tool)
        tries = 0
        while name in self._tools:
            name = _marked(plain, tool + " " * tries)
            tries += 1
        return name

    def has(self, name: str) -> bool:
        """Whether a tool was given this name."""
        return name in self._tools

    def of(self, tool: str) -> str:
        """What a tool is called towards the model."""
        return self._given.get(tool, tool)

    def tool(self, name: str) -> str:
        """The tool that a model means; a name that was never given is the gateway's to judge."""
        return self._tools.get(name, name)


def _plain(tool: str) -> str:
    name = _REFUSED.sub("_", tool)
    return name if len(name) <= LONGEST else _marked(name, tool)


def _marked(name: str, tool: str) -> str:
    """A name with a mark of its tool's own, so that another tool hardly gets the same."""
    return f"{name[: LONGEST - 9]}_{hashlib.sha256(tool.encode()).hexdigest()[:8]}"
