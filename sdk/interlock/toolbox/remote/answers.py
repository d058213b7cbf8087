"""What the far end answers, read as what it has to be: another host's word is not taken for its form.

All raise BadFrameError for anything else.
"""

import re
from typing import Any

from interlock.toolbox import errors
from interlock.toolbox.errors import OperationError
from interlock.toolbox.operations import Entry, Exit, Kind, LineMatch, Place, Snapshot, Tree
from interlock.toolbox.remote.frames import BadFrameError

MAX_TEXT = 64 * 1024
MAX_MESSAGE = 4000
MAX_NUMBER = 1 << 63
_MAX_PARTS = 4096
_SIGNAL = re.compile(r"(SIG[A-Z0-9+]{1,12}|signal \d{1,4})?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KNOWN = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, OperationError) and kind.__module__ == errors.__name__
}


def failure(words: Any) -> OperationError | ValueError:
    """The error that an answer stands for: one of `interlock.toolbox.errors`, by name."""
    name, message = _list(words, 2)
    sentence = _CONTROL.sub("", text(message, MAX_MESSAGE))
    if name == "ValueError":
        return ValueError(sentence)
    kind = _KNOWN.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadFrameError("an error of no known name")
    made = kind.__new__(kind)
    OperationError.__init__(made, sentence)
    return made


def nothing(words: Any) -> None:
    """No answer but that it was done."""
    if words is not None:
        raise BadFrameError("an answer where there is none to give")


def yes(words: Any) -> bool:
    """A truth value."""
    if not isinstance(words, bool):
        raise BadFrameError("not a truth value")
    return words


def number(words: Any, most: int = MAX_NUMBER) -> int:
    """A whole number that is not negative."""
    if not isinstance(words, int) or isinstance(words, bool) or not 0 <= words <= most:
        raise BadFrameError("not a number of the kind")
    return words


def text(words: Any, most: int = MAX_TEXT) -> str:
    """A text, not too long."""
    if not isinstance(words, str) or len(words) > most:
        raise BadFrameError("not a text of the kind")
    return words


def place(words: Any, roots: tuple[str, ...]) -> Place:
    """A place in one of the roots."""
    root, parts, given = _list(words, 3)
    if root not in roots:
        raise BadFrameError("a place in no root")
    return Place(root, tuple(map(_name, _list(parts, most=_MAX_PARTS))), text(given))


def entry(words: Any) -> Entry:
    """What is at a place: its name may also be the root's, which is `.`."""
    name, kind, size, mode = _list(words, 4)
    return Entry(name if name == "." else _name(name), _kind(kind), number(size), number(mode, 0o7777))


def entries(words: Any) -> list[Entry]:
    """The entries of a directory."""
    found = [entry(one) for one in _list(words)]
    if any(one.name == "." for one in found):
        raise BadFrameError("a directory in itself")
    return found


def snapshot(words: Any, content: bytes, roots: tuple[str, ...]) -> Snapshot:
    """A file's state."""
    where, there, mode, missing = _list(words, 4)
    parents = tuple(place(one, roots) for one in _list(missing, most=_MAX_PARTS))
    return Snapshot(place(where, roots), content if yes(there) else None, number(mode, 0o7777), parents)


def tree(words: Any, roots: tuple[str, ...], most: int) -> Tree:
    """What a removal would take."""
    where, kind, token, names, count, total = _list(words, 6)
    shown = tuple(text(one) for one in _list(names, most=most))
    return Tree(place(where, roots), _kind(kind), text(token, 256), shown, number(count), number(total))


def record(words: Any) -> dict[str, Any]:
    """A record of the vault: what it says is its reader's to judge."""
    if not isinstance(words, dict):
        raise BadFrameError("not a record")
    return words


def ended(words: Any) -> Exit:
    """How a command ended."""
    code, name, duration, timed_out, left = _list(words, 5)
    if not isinstance(name, str) or not _SIGNAL.fullmatch(name):
        raise BadFrameError("not a signal's name")
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0 <= duration < 1e9:  # noqa: PLR2004 -- years
        raise BadFrameError("not a duration")
    return Exit(None if code is None else number(code, 1 << 32), name, float(duration), yes(timed_out), yes(left))


def lines(words: Any, files: int, most_per_file: int) -> list[tuple[LineMatch, ...] | None]:
    """The lines found in each of so many files."""
    found: list[tuple[LineMatch, ...] | None] = []
    for one in _list(words, files):
        if one is None:
            found.append(None)
            continue
        pairs = [_list(pair, 2) for pair in _list(one, most=most_per_file)]
        found.append(tuple(LineMatch(number(count), text(line)) for count, line in pairs))
    return found


def roots(words: Any, asked: int) -> tuple[str, ...]:
    """The roots' names, as given and with links resolved."""
    found = tuple(text(one) for one in _list(words, most=2 * asked))
    if not found or not all(one.startswith("/") and "\0" not in one for one in found):
        raise BadFrameError("roots that are no absolute paths")
    return found


def pair(words: Any) -> list[Any]:
    """Two things."""
    return _list(words, 2)


def _list(words: Any, exactly: int | None = None, most: int | None = None) -> list[Any]:
    if not isinstance(words, list) or (exactly is not None and len(words) != exactly):
        raise BadFrameError("not a list of the kind")
    if most is not None and len(words) > most:
        raise BadFrameError("more than was asked for")
    return words


def _name(words: Any) -> str:
    name = text(words, 4096)
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise BadFrameError("a name that no file can have")
    return name


def _kind(words: Any) -> Kind:
    try:
        return Kind(words)
    except ValueError:
        raise BadFrameError("a kind of file that there is none of") from None
