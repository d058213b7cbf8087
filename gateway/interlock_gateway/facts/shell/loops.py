"""What the variable of a `for` stands for: each of its words in turn, where nothing else can be assigned to it."""

import re
from collections.abc import Mapping, Sequence

from interlock_gateway.facts.shell.reading import Word

MAX_VALUES = 16
MAX_LOOPS = 2
"""Loops inside one another whose commands are read for each word."""
MOST = 32
"""Loops in one script that are looked at for it."""
MAX_SCRIPT = 8 * 1024
"""Characters of a script in which loops are looked at for it."""

_NAME = re.compile(r"[a-z][a-z0-9]*", re.ASCII)
_PLAIN = re.compile(r"[\w./:@%+,=-]+", re.ASCII)
# What may assign a variable by a name that does not stand there, and what changes how words are read.
_OBSCURE = re.compile(
    r"[\\`]|\$'|\$\[|<<|\(\(|\[\[|\(\s*\)|\$\{!|(?:^|[\n;&|({!]|\b(?:builtin|command|do|else|then)\b)[ \t]*\.\s"
    r"|printf[\"']*\s+[\"']*-[\"'\w]*v"
    r"|\b(?:coproc|declare|eval|export|function|getopts|let|local|mapfile|read|readarray|readonly|select|set|shift"
    r"|source|trap|typeset|unset|wait)\b"
)


def certain(name: Word, values: Sequence[Word], bound: Mapping[str, Word], text: str) -> bool:
    """Whether `name` is used, and each use of it in the loop's commands stands for one of `values`.

    `bound` are the variables of the loops around it, `text` the whole script. It is certain when the words are written
    down, and nothing in the script names the variable but the loop and its uses (`$f`, `${f}`), or could do so in a way
    that is not seen.
    """
    if not values or len(values) > MAX_VALUES or len(bound) >= MAX_LOOPS or len(text) > MAX_SCRIPT:
        return False
    if not _NAME.fullmatch(name.text) or name.source != name.text or not all(map(_written, values)):
        return False
    without, uses = re.subn(rf"\$\{{{name.text}\}}|\${name.text}\b", " ", text)
    # An option (`[ -f "$f" ]`) assigns nothing.
    without = re.sub(rf"(?<=\s)-{name.text}(?=[\s;|&)])", " ", without)
    named = re.findall(rf"\b{name.text}\b", without)
    return bool(uses) and len(named) == 1 and not _OBSCURE.search(text)


def _written(word: Word) -> bool:
    """Whether it is known what a word is, and that it stays one where it is put; a pattern does where it is quoted."""
    if word.literal is None or word.tilde or not word.text:
        return False
    return word.glob or _PLAIN.fullmatch(word.text) is not None
