"""Commands that read whatever lies in a directory, as `grep -r` does: which, where, and what they leave out."""

from dataclasses import dataclass, replace
from itertools import pairwise

from interlock_gateway.facts.shell.options import Options, Parsed, parse, shortened
from interlock_gateway.facts.shell.reading import Word

_GREP = Options(
    "EFGPiyvwxcLlqsbHhnrRTUuaIoZzV",
    "ABCefmdD",
    "",
    "recursive dereference-recursive extended-regexp fixed-strings basic-regexp perl-regexp ignore-case "
    "no-ignore-case invert-match word-regexp line-regexp count color colour files-without-match files-with-matches "
    "only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab null text "
    "null-data line-buffered",
    "after-context before-context context regexp file max-count directories devices include exclude exclude-from "
    "exclude-dir label binary-files",
    digits=True,
    permuted=True,
)
_RG = Options(
    "aiIFHhLlNnopqSsUuvVwxz0.Pc",
    "ABCEefgjmMrtTd",
    "",
    "hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-dot unrestricted follow no-follow text "
    "ignore-case fixed-strings with-filename no-filename files files-with-matches files-without-match line-number "
    "no-line-number only-matching pretty quiet smart-case case-sensitive multiline multiline-dotall invert-match "
    "word-regexp line-regexp count count-matches column heading no-heading json null stats trim vimgrep pcre2 "
    "no-messages no-config crlf block-buffered line-buffered passthru no-require-git no-column null-data",
    "after-context before-context context regexp file glob iglob type type-not type-add type-clear max-count "
    "max-columns max-depth maxdepth replace encoding engine colors color sort sortr threads ignore-file "
    "context-separator field-match-separator field-context-separator path-separator pre pre-glob max-filesize",
    permuted=True,
)
_CODE = frozenset({"py", "python", "js", "ts", "typescript", "rust", "go", "java", "c", "cpp", "ruby", "php", "md"})
_CODE |= {"markdown", "html", "css", "swift", "kotlin", "scala", "csharp", "lua", "haskell"}
_GREPS = frozenset({"grep", "egrep", "fgrep", "ggrep", "rgrep"})


@dataclass(frozen=True, slots=True)
class Search:
    """A search through directories; without any, through the current one.

    `only` are patterns of the names that are searched, `without` of those that are not, `without_directories` of
    directories. `follows` links, searches `hidden` files, and what `ignored` files of version control list. `deep` is
    false when nothing is searched but what lies in the directories themselves, if they are any. `known` is false when
    an option is not understood. `unversioned` says that nothing is searched in a working tree of git's, which is looked
    for from the directory `within` on. `plain_names` says that names with blanks or quotes in them may lead anywhere.
    """

    directories: tuple[Word, ...]
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    without_directories: tuple[str, ...] = ()
    follows: bool = False
    hidden: bool = True
    ignored: bool = True
    deep: bool = True
    known: bool = True
    unversioned: bool = False
    within: str = "."
    plain_names: bool = False

    @property
    def strays(self) -> bool:
        """Whether what it comes to, and has not been looked at, may lie anywhere, whatever its name."""
        return self.follows or self.plain_names


def plainly_named(pattern: str) -> bool:
    """Whether a pattern of names stands for no others than it seems to, as with backslashes, or slashes in classes."""
    return not {"\\", "/"} & set(pattern)


def search(name: str, words: list[Word], *, fed: bool) -> Search | None:
    """What a command searches, or None. `fed` says that something is piped to it."""
    if name in _GREPS:
        return _grep(name, words)
    if name == "rg":
        return _ripgrep(words, fed=fed)
    texts = {word.text for word in words}
    if name == "diff":
        through = any(_short(text, "r") or shortened(text, "--recursive") for text in texts)
        # Of two directories it compares what lies in both, and shows all of what lies in one if it is told to.
        return Search(_operands(words[1:]), deep=through)
    if name == "git" and any(_beyond_what_is_tracked(text) for text in texts):
        return Search(())
    if name == "git":
        return _compared(words[1:])
    return None


def _beyond_what_is_tracked(text: str) -> bool:
    """Whether an option has git search what it does not track; it takes the beginning of one for the whole."""
    enough = text.startswith("--no-in") or (text.startswith("--u") and len(text) > len("--u"))
    return enough and any(option.startswith(text) for option in ("--no-index", "--untracked"))


def _compared(words: list[Word]) -> Search | None:
    """What `git diff` compares of two files or directories that lie in no working tree: all that is in them."""
    pairs = [*pairwise([Word("git", "git"), *words])]
    index = next((at for at, (before, word) in enumerate(pairs) if word.text == "diff" and before.text != "-C"), None)
    if index is None:
        return None
    after = [word.text for word in words[index + 1 :]]
    named = [word for word in words[index + 1 :] if "--" in after or not word.text.startswith("-")]
    compared = tuple(word for word in named if word.text != "--")[-2:]
    if len(compared) < len(("this", "that")) and not any(word.glob for word in compared):
        return None
    # Each is from the one before it on.
    within = "/".join(word.text for before, word in pairs[:index] if before.text == "-C")
    if within:
        compared = tuple(replace(word, text=f"{within}/{word.text}") for word in compared)
    return Search(compared, unversioned=True, within=within or ".")


def _grep(name: str, words: list[Word]) -> Search | None:
    texts = [word.text for word in words[1:]]
    parsed = parse(words[1:], _GREP)
    directories = parsed.texts("directories", "d")
    followed = any(_short(text, "R") or shortened(text, "--dereference-recursive") for text in texts)
    through = followed or name == "rgrep" or any(_short(text, "r") or shortened(text, "--recursive") for text in texts)
    if not through and not any("recurse".startswith(value) and value for value in directories):
        return None
    only = parsed.texts("include")
    return Search(
        _places(parsed),
        only=tuple(only) if all(map(plainly_named, only)) else (),
        without=tuple(parsed.texts("exclude")),
        without_directories=tuple(one.rstrip("/") for one in parsed.texts("exclude-dir")),
        follows=followed,
        known=parsed.known,
    )


def _ripgrep(words: list[Word], *, fed: bool) -> Search | None:
    parsed = parse(words[1:], _RG)
    given, places = parsed.given, _places(parsed)
    if "files" in given or (fed and not places):
        return None
    chosen = any(option in given for option in ("g", "glob", "iglob")) and not _only_leaves_out(parsed)
    # What is chosen by a pattern is searched whatever its type.
    if _is_of_code(parsed) and parsed.known and not chosen and not given.keys() & {"type-add", "L", "follow"}:
        return None
    unrestricted = {"u", "unrestricted"} & given.keys()
    return Search(
        places,
        follows=bool({"L", "follow"} & given.keys()),
        hidden=bool(chosen or unrestricted or {".", "hidden"} & given.keys()),
        ignored=bool(chosen or unrestricted or any(option.startswith("no-ignore") for option in given)),
        known=parsed.known,
    )


def _is_of_code(parsed: Parsed) -> bool:
    """Whether types are chosen, and only such of code."""
    types = parsed.texts("type", "t")
    return bool(types) and set(types) <= _CODE


def _only_leaves_out(parsed: Parsed) -> bool:
    """Whether all patterns of files are of those that are not searched."""
    patterns = parsed.texts("g", "glob", "iglob")
    return parsed.known and bool(patterns) and all(one.startswith("!") for one in patterns)


def _places(parsed: Parsed) -> tuple[Word, ...]:
    written = {"e", "f", "regexp", "file"} & parsed.given.keys()
    return tuple(parsed.operands if written else parsed.operands[1:])


def _operands(words: list[Word]) -> tuple[Word, ...]:
    return tuple(word for word in words if not word.text.startswith("-"))


def _short(text: str, letter: str) -> bool:
    return text.startswith("-") and not text.startswith("--") and letter in text
