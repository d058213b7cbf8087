"""What a command does to what follows: runs other commands or scripts, or interprets code."""

from dataclasses import dataclass

from interlock_gateway.facts.shell.reading import Word
from interlock_gateway.facts.shell.searching import Search


@dataclass(frozen=True, slots=True)
class Run:
    """What a command runs in its turn: `words`, or the text of a shell `script` with holes.

    With neither, something is run and it cannot be told what. `appended` says that arguments follow which are known
    only at run time, `moved` that it runs in another directory, root or machine, `implied` that nobody wrote it down.
    `fed` is the search whose files, and nothing else, the last word stands for.
    """

    words: tuple[Word, ...] = ()
    script: str | None = None
    assignments: tuple[Word, ...] = ()
    appended: bool = False
    moved: bool = False
    implied: bool = False
    fed: Search | None = None


UNKNOWN = Run()


@dataclass(frozen=True, slots=True)
class Interpretation:
    """Code a command interprets: in which language, and whether it comes from an argument, a file or standard input.

    `script` is the file. `code` is the position among the words of code given as an argument; `attached` is the code
    that is no word of its own.
    """

    language: str
    source: str
    script: Word | None = None
    code: int | None = None
    attached: Word | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """All that a command runs and interprets. `writes` are files it opens for writing that no redirection names.

    `feeds` says that it does nothing but find files and give their names to what it runs.
    """

    runs: tuple[Run, ...] = ()
    interprets: Interpretation | None = None
    writes: tuple[Word, ...] = ()
    feeds: bool = False


NOTHING = Effects()
