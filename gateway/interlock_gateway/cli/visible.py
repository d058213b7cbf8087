"""Text from tools and agents, made safe to show on a terminal (CHK-10): what would not be seen is made visible."""

import re

_TAB, _LINE = "\t", "\n"
# Letters, marks and symbols that are printable by their category, and yet leave nothing to see.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(code) for code in range(0x180B, 0x180E)}
_SELECTORS = frozenset(chr(code) for code in range(0xE0100, 0xE01F0))
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


def _shown(character: str, *, keep: tuple[str, ...] = ()) -> str:
    if character in keep:
        return character
    if character.isprintable() and character not in _BLANK and character not in _SELECTORS:
        return character
    return f"<U+{ord(character):04X}>"
