"""Which parts of a word may be paths: the word, the value of an option, what stands behind `=` and `:` in either."""

import re
from dataclasses import dataclass

from interlock_gateway.facts.shell.reading import HOLE, Word

_OPTION_VALUE = re.compile(r"-{0,2}[A-Za-z][A-Za-z0-9_.-]*=(.*)", re.DOTALL)
_ATTACHED = re.compile(r"-[A-Za-z]([./~].*|.*/.*)", re.DOTALL)
_LEAVES_OUT = re.compile(r"--exclude(?:-dir)?=")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w.@-]+:[^/]*/")
_SEPARATOR = re.compile(r"[=:]")
_PARTS = re.compile(r"[=:,]")
_PARTS_OF_VALUES = re.compile(r"[=,]")
_LEADS = re.compile(r"/(?!/|\Z)|~|\.\.(?:/|\Z)|\.\w|\.?[^/]+/", re.DOTALL)
_PATHSPEC = re.compile(r":(?:\(([^)]*)\)|([!^/]+))(.*)", re.DOTALL)
# What these print, look for or reckon with is no path.
_OF_TEXT = frozenset({"awk", "echo", "egrep", "fgrep", "gawk", "grep", "jq", "printf", "rg", "sed", "tr", "yq"})
# To these, and in what they mount, a path behind a colon lies elsewhere.
_OF_OTHER_HOSTS = frozenset({"docker", "kubectl", "nerdctl", "oc", "podman", "rsync", "scp", "sftp", "ssh"})


@dataclass(frozen=True, slots=True)
class Texts:
    """What a word names: `certain` are paths by their looks, `others` if there is such a file."""

    certain: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_NONE = Texts()


def named(word: Word, program: str | None) -> Texts:
    """The parts of an argument that may be paths, whose program is called `program`."""
    text = word.text
    if program == "git" and text.startswith(":"):
        match = _PATHSPEC.fullmatch(text)
        if match:
            return _NONE if _is_left_out(match) else Texts((match[3],) if match[3] else ())
    certain = _whole(word)
    if text.startswith("@") and not certain:
        rest = text[1:]
        certain, others = ([rest] if _LEADS.match(rest) else []), [rest]
    else:
        others = []
    if _SEPARATOR.search(text) and not _LEAVES_OUT.match(text):
        parts = _parts(text, program)
        certain = [*dict.fromkeys((*certain, *filter(_LEADS.match, parts)))]
        others += (part for part in parts if not _LEADS.match(part))
    return Texts(tuple(certain), tuple(others)) if certain or others else _NONE


def _is_left_out(match: re.Match[str]) -> bool:
    """Whether git is told by a pattern what it must not show."""
    return "exclude" in (match[1] or "") or bool(set(match[2] or "") & {"!", "^"})


def _whole(word: Word) -> list[str]:
    """The word, the value in `--option=value`, the rest of `-Idir`, if it looks like a path."""
    text = word.text
    if _LEAVES_OUT.match(text):
        return []
    value = _OPTION_VALUE.fullmatch(text) or _ATTACHED.fullmatch(text)
    if value:
        text = value[1]
    elif text.startswith("-"):
        return []
    text = text.removeprefix("@")
    looks = "/" in text or text in {".", ".."} or word.glob or (word.tilde and text is word.text)
    return [text] if text and looks and (text.startswith("file:") or not _REMOTE.match(text)) else []


def _parts(text: str, program: str | None) -> list[str]:
    """What stands between the separators of a word, before a URL begins, and where it is no sentence."""
    if program in _OF_TEXT and not text.startswith("-"):
        return []
    before, url, _ = text.partition("://")
    # Before a colon in an operand of git's stands a commit: the file lies there.
    elsewhere = program in _OF_OTHER_HOSTS or (program == "git" and not text.startswith("-"))
    pieces = (_PARTS_OF_VALUES if elsewhere else _PARTS).split(before)
    if url:
        pieces.pop()
    if not text.startswith("-"):
        # Behind a word with a space follows a sentence.
        pieces = pieces[: next((at for at, piece in enumerate(pieces, 1) if " " in piece), len(pieces))]
    parts = [piece.removeprefix("@") for piece in pieces[1:] if HOLE not in piece]
    return [part for part in parts if part and not part[0].isspace()]
