"""What reading a shell script gives: words, redirections, simple commands, and how they hang together."""

from dataclasses import dataclass, field

HOLE = "\U0010fffe"
"""Stands in a word's text for a part that is only known when the script runs. A noncharacter, refused in scripts."""

PROCESS = f"/dev/fd/{HOLE}"
"""The text of a process substitution."""

MAX_SCRIPT_BYTES = 64 * 1024
MAX_COMMANDS = 2_000
MAX_DEPTH = 16
MAX_NESTING = 48
"""Expansions inside one another, as in `${a:-${b:-c}}`."""
MAX_STEPS = 10_000
"""Words, expansions and nested scripts that one call may cost; the bound on time that no script can move."""


class ShellSyntaxError(Exception):
    """The script is not understood from here on; the message says why, for a person."""


class LimitExceededError(ShellSyntaxError):
    """The script is larger or deeper than is read; nothing of it is read further, nested or not."""


@dataclass(slots=True)
class Word:
    """One word after quote removal. `text` holds `HOLE` for each part that is not literal.

    `name` is set for an assignment, whose `text` is then the value; `loop` says that a `for` makes it, for each of its
    words. `quoted` says that any part was quoted; `source` is the word as written.
    """

    text: str
    source: str
    quoted: bool = False
    glob: bool = False
    tilde: bool = False
    name: str | None = None
    loop: bool = False

    @property
    def literal(self) -> str | None:
        """The value, or None when it is only known at run time."""
        return None if HOLE in self.text else self.text

    @property
    def script(self) -> str:
        """The text as a script that something else reads, with a hole for what file name expansion may bring in."""
        return self.text + HOLE if self.glob else self.text


@dataclass(slots=True)
class Redirection:
    """One redirection. `body` is the text of a here-document or here-string, with `HOLE` for what is not literal."""

    operator: str
    descriptor: str | None
    target: Word
    body: str | None = None


@dataclass(slots=True)
class Frame:
    """One pipeline; `stages` is 1 when it is a lone command."""

    stages: int = 1


@dataclass(slots=True)
class Scope:
    """Where a command stands: stage `stage` of `frame`, inside `parent`.

    `repeated` is true in loops and functions, `stdin` says what a redirection around the command feeds it. `chain` is
    the first pipeline of the `&&` list it stands in: it runs only if all before it in the chain have succeeded.
    """

    parent: "Scope | None" = None
    frame: Frame | None = None
    stage: int = 0
    depth: int = 0
    repeated: bool = False
    stdin: str | None = None
    chain: Frame | None = None


@dataclass(slots=True)
class Simple:
    """One simple command as written. `source` is its text."""

    scope: Scope
    words: list[Word] = field(default_factory=list)
    assignments: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    source: str = ""


@dataclass(slots=True)
class Budget:
    """What is left of a call's bounds; shared by a script and every script inside it."""

    steps: int = MAX_STEPS
    commands: int = MAX_COMMANDS
    nesting: int = MAX_NESTING

    def deeper(self) -> None:
        """Count an expansion that others may stand in. Raises LimitExceededError when there are too many."""
        self.nesting -= 1
        if self.nesting < 0:
            raise LimitExceededError(f"expansions are nested more than {MAX_NESTING} deep")

    def back(self) -> None:
        """Say that the last one has ended."""
        self.nesting += 1

    def step(self, cost: int = 1) -> None:
        """Count work. Raises LimitExceededError when there has been too much."""
        self.steps -= cost
        if self.steps < 0:
            raise LimitExceededError(f"the script takes more than {MAX_STEPS} steps to read")

    def command(self) -> None:
        """Count a command. Raises LimitExceededError past the limit."""
        self.commands -= 1
        if self.commands < 0:
            raise LimitExceededError(f"the script has more than {MAX_COMMANDS} commands")


@dataclass(slots=True)
class Reading:
    """All that was read of one script, in the order of the text; on a syntax error, all that stood before it."""

    budget: Budget
    commands: list[Simple] = field(default_factory=list)
    loose_redirections: list[Redirection] = field(default_factory=list)
    assignments: list[Word] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    hazards: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    bash_only: bool = False
