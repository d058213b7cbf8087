"""Code blocks in our documents, and what must be true of them.

A block that cannot run in a test says so, and why, in a comment on the line above it::

    <!-- not run: it installs from a registry -->
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, groupby

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<excuse>[^>]+) -->\n+)?^(?P<fence>```+)(?P<language>\w+)[^\n]*\n(?P<body>.*?)^(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
SEPARATORS = {"&&", "||", "|", ";", "&"}
# What `tests/e2e` plays from top to bottom in a shell, with a gateway: whole documents, or what is below one heading.
PLAYED = {
    "README.md": "",
    "examples/README.md": "",
    "docs/policies.md": "## A change, from the first line to the last",
}
SHELLS = {"bash", "sh", "shell", "console"}


@dataclass(frozen=True, slots=True)
class Snippet:
    """One fenced block: where it begins, in which language, and the reason if it is not run."""

    path: str
    line: int
    language: str
    body: str
    excuse: str | None

    @property
    def place(self) -> str:
        """Where it is, as ``file:line``."""
        return f"{self.path}:{self.line}"


def played_part(path: str, document: str) -> str:
    """What of a document is played; blank lines stand for what comes before, so that places hold."""
    if path not in PLAYED:
        return ""
    start, end = _section(document, PLAYED[path])
    return "\n" * document.count("\n", 0, start) + document[start:end]


def unplayed_part(path: str, document: str) -> str:
    """The rest of it; blank lines stand for what is played."""
    if path not in PLAYED:
        return document
    start, end = _section(document, PLAYED[path])
    return document[:start] + "\n" * document.count("\n", start, end) + document[end:]


def _section(document: str, heading: str) -> tuple[int, int]:
    if not heading:
        return 0, len(document)
    start = document.index(f"{heading}\n")
    end = document.find("\n## ", start)
    return start, len(document) if end < 0 else end + 1


def snippets_in(path: str, document: str) -> Iterator[Snippet]:
    """Give the fenced blocks of a document that name a language, in order."""
    for block in BLOCK.finditer(document):
        line = document.count("\n", 0, block.start("fence")) + 1
        yield Snippet(path, line, block["language"], block["body"], block["excuse"])


def commands_in(snippet: Snippet) -> Iterator[list[str]]:
    """Give the commands of a shell snippet as words, without comments, prompts, variables and output."""
    body = snippet.body.replace("\\\n", " ")
    for line in body.splitlines():
        if snippet.language == "console" and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        for joined, command in groupby(words, SEPARATORS.__contains__):
            if not joined:
                yield from without_variables(list(command))


def without_variables(words: list[str]) -> Iterator[list[str]]:
    """Give a command without the variables set for it; nothing when it only sets variables."""
    command = list(dropwhile(lambda word: re.match(r"[A-Z_]+=", word), words))
    if command:
        yield command
