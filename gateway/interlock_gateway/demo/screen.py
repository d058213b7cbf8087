"""How the demonstration talks to the person who watches it."""

import os
import sys
import textwrap

WIDTH = 100
_COLOURS = {"dim": "2", "bold": "1", "green": "32", "red": "31", "yellow": "33", "cyan": "36"}


class Screen:
    """Prints scenes, what the agent asks, and what it gets; in colour when a terminal is watching."""

    def __init__(self, *, colour: bool | None = None) -> None:
        wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ if colour is None else colour
        self._colour = wanted
        self._scene = 0

    def paint(self, text: str, *styles: str) -> str:
        """`text` in the given styles, when there is colour."""
        if not self._colour:
            return text
        codes = ";".join(_COLOURS[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def title(self, text: str) -> None:
        """The headline."""
        print(self.paint(text, "bold"))
        print(self.paint("=" * len(text), "dim"))

    def scene(self, text: str) -> None:
        """The next scene begins."""
        self._scene += 1
        print()
        print(self.paint(f"{self._scene}. {text}", "bold", "cyan"))

    def say(self, text: str) -> None:
        """A sentence to the watcher."""
        for line in textwrap.wrap(text, WIDTH - 3):
            print(f"   {self.paint(line, 'dim')}")

    def asks(self, tool: str, arguments: str) -> None:
        """The agent calls a tool."""
        shown = arguments if len(arguments) <= WIDTH - 24 else arguments[: WIDTH - 27] + "..."
        print(f"   agent   > {self.paint(tool, 'bold')} {shown}")

    def gets(self, status: str, *, good: bool) -> None:
        """What the agent gets back."""
        colour = "green" if good else "red"
        if status.startswith("preview"):
            colour = "yellow"
        print(f"   gateway < {self.paint(status, 'bold', colour)}")

    def person(self, text: str) -> None:
        """What happens at the approver's side."""
        print(f"   person  * {self.paint(text, 'bold', 'cyan')}")

    def block(self, lines: str, most: int = 14) -> None:
        """Some lines as they are, not too many of them."""
        found = lines.rstrip("\n").split("\n")
        if len(found) > most:
            found = [*found[: most - 3], f"... {len(found) - most + 1} lines ...", *found[-2:]]
        for line in found:
            cut = line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
            print(f"             {self._diffed(cut)}")

    def _diffed(self, line: str) -> str:
        if line.startswith("+") and not line.startswith("+++"):
            return self.paint(line, "green")
        return self.paint(line, "red") if line.startswith("-") and not line.startswith("---") else line
