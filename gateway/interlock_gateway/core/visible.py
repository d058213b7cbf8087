"""Text from tools and agents, made safe to show to people (CHK-10): what would not be seen is made visible."""

import json
import re

_TAB, _LINE = "\t", "\n"
_DELETE = 0x7F
# Letters, marks and symbols that are printable by their category, and yet leave nothing to see.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4\U0001d159")
_BLANK |= {chr(code) for code in range(0x180B, 0x1810)}
_SELECTORS = frozenset(chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
_SUSPECT = re.compile("[^ -~]")


def visible(text: str) -> str:
    r"""`text` with everything that could act on a terminal, hide, or reorder as `<U+001B>`; line breaks and tabs stay.

    That is: control characters and so every terminal escape, bidirectional overrides and isolates, zero-width and
    other invisible characters, tags, private and unassigned ones, lone surrogates, and spaces that are no space.

    >>> visible("delete \x1b[2K\u202efdp.exe")
    'delete <U+001B>[2K<U+202E>fdp.exe'
    """
    return _SUSPECT.sub(lambda found: _shown(found[0], keep=(_LINE, _TAB)), text)


def visible_line(text: str) -> str:
    r"""The same on one line: line breaks and tabs are made visible too.

    >>> visible_line("one\ntwo")
    'one<U+000A>two'
    """
    return _SUSPECT.sub(lambda found: _shown(found[0]), text)


def visible_json(text: str) -> str:
    r"""JSON text with the same characters escaped in its strings: it means what it meant, and can be edited and sent.

    >>> visible_json('{"file": "\u202efdp.exe"}')
    '{"file": "\\u202efdp.exe"}'
    """
    return _SUSPECT.sub(lambda found: _escaped(found[0]), text)


def _shown(character: str, *, keep: tuple[str, ...] = ()) -> str:
    return character if character in keep or _is_seen(character) else f"<U+{ord(character):04X}>"


def _escaped(character: str) -> str:
    # In valid JSON these stand between tokens alone, where they are line breaks and indentation.
    if character in "\t\n\r" or _is_seen(character):
        return character
    return json.dumps(character)[1:-1] if ord(character) != _DELETE else "\\u007f"


def _is_seen(character: str) -> bool:
    return character.isprintable() and character not in _BLANK and character not in _SELECTORS
