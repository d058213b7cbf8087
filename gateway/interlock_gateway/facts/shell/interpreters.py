"""Programs that interpret code: shells, whose code is read in turn, and others, whose code is only said to be there."""

import re
import string

from interlock_gateway.facts.shell.effects import NOTHING, UNKNOWN, Effects, Interpretation, Run
from interlock_gateway.facts.shell.options import Options, Parsed, parse
from interlock_gateway.facts.shell.reading import HOLE, Word

SHELLS = frozenset({"sh", "ash", "bash", "dash", "ksh", "ksh93", "mksh", "rbash", "rzsh", "yash", "zsh"})
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_SHELL_LONG_VALUED = frozenset({"--rcfile", "--init-file"})
_VERSION = re.compile(r"[0-9.]+$")


def _lenient(valued: str, attached: str = "", last: str = "", long_valued: str = "") -> Options:
    flags = "".join(set(string.ascii_letters + string.digits) - set(valued + attached))
    return Options(flags, valued, attached, "", long_valued, last)


_LANGUAGES: dict[str, tuple[Options, tuple[str, ...]]] = {
    "awk": (
        _lenient("eEfFiv", long_valued="source exec file field-separator include assign load"),
        ("e", "source"),
    ),
    "bun": (_lenient("e", long_valued="eval"), ("e", "eval")),
    "csh": (_lenient("c", last="c"), ("c",)),
    "deno": (_lenient(""), ()),
    "fish": (_lenient("c", long_valued="command"), ("c", "command")),
    "lua": (_lenient("el"), ("e",)),
    "luajit": (_lenient("el"), ("e",)),
    "node": (_lenient("eprC", long_valued="eval print require import"), ("e", "p", "eval", "print")),
    "osascript": (_lenient("els"), ("e",)),
    "perl": (_lenient("eE", "iIMmFxdDCV"), ("e", "E")),
    "php": (_lenient("rBREfdcz"), ("r", "B", "R", "E")),
    "powershell": (_lenient(""), ()),
    "pwsh": (_lenient(""), ()),
    "python": (_lenient("cmWX", last="cm"), ("c",)),
    "pypy": (_lenient("cmWX", last="cm"), ("c",)),
    "r": (_lenient("ef"), ("e",)),
    "rscript": (_lenient("e"), ("e",)),
    "ruby": (_lenient("erICEK", "iFTxW"), ("e",)),
    "sed": (_lenient("efl", "i", long_valued="expression file line-length"), ("e", "expression")),
    "tclsh": (_lenient(""), ()),
    "tcsh": (_lenient("c", last="c"), ("c",)),
}
_ALIASES = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "nodejs": "node", "gsed": "sed", "texlua": "lua"}
_FIRST_OPERAND_IS_CODE = frozenset({"awk", "sed"})
_OF_PROJECT = {"bun": ("test",), "deno": ("check", "fmt", "lint", "test")}
_CODE_WORDS = {"deno": ("eval",), "pwsh": ("-c", "-command", "-e", "-ec", "-encodedcommand")}
_CODE_WORDS["powershell"] = _CODE_WORDS["pwsh"]


def shell(words: list[Word]) -> Effects:
    """What `sh`, `bash` and their kin run: a script in an argument, a file, or standard input."""
    index, letters = 1, ""
    while index < len(words):
        text = words[index].text
        if text in {"--", "-"}:
            index += 1
            break
        if text.startswith(HOLE):
            return Effects((UNKNOWN,), Interpretation("shell", "unknown"))
        if not text.startswith(("-", "+")):
            break
        long = text.startswith("--")
        index += 1 + (text in _SHELL_LONG_VALUED if long else sum(text.count(letter) for letter in "oO"))
        letters += "" if long or text.startswith("+") else text
    operands = words[index:]
    if "c" in letters:
        ran = (Run(script=operands[0].script),) if operands else ()
        return Effects(ran, Interpretation("shell", "argument", code=index)) if operands else NOTHING
    return Effects(interprets=_from(operands if "s" not in letters else [], "shell"))


def source(words: list[Word]) -> Effects:
    """What `source` and `.` run."""
    operands = parse(words[1:], Options("", "p")).operands
    return Effects(interprets=_from(operands, "shell")) if operands else NOTHING


def other(name: str, words: list[Word]) -> Effects:
    """What a program that is no shell interprets; nothing when it is not known to be an interpreter."""
    language = _VERSION.sub("", name.lower().removesuffix(".exe"))
    language = _ALIASES.get(language, language)
    if language not in _LANGUAGES:
        return NOTHING
    options, code = _LANGUAGES[language]
    if _is_of_project(language, words):
        return NOTHING
    parsed = parse(words[1:], options)
    if "m" in parsed.given and language in {"python", "pypy"}:
        module = parsed.given["m"] or Word(HOLE, "")
        return Effects((Run((module, *parsed.operands)),))
    given = next((parsed.given[option] for option in code if option in parsed.given), None)
    word = given or _code_word(language, words) or _first_operand(language, parsed)
    if word is not None:
        position = next((index for index, candidate in enumerate(words) if candidate is word), None)
        attached = word if position is None else None
        return Effects(interprets=Interpretation(language, "argument", code=position, attached=attached))
    file = parsed.given.get("f") or parsed.given.get("file") if language in {*_FIRST_OPERAND_IS_CODE, "php"} else None
    return Effects(interprets=_from([file] if file else parsed.operands, language))


def _is_of_project(language: str, words: list[Word]) -> bool:
    """Whether the program looks through the project's own code by itself; a colon may lead elsewhere."""
    known = _OF_PROJECT.get(language, ())
    return len(words) > 1 and words[1].text in known and not any(":" in word.text for word in words)


def _code_word(language: str, words: list[Word]) -> Word | None:
    marks = _CODE_WORDS.get(language, ())
    index = next((i for i, word in enumerate(words) if i and word.text.lower() in marks), None)
    return words[index + 1] if index is not None and index + 1 < len(words) else None


def _first_operand(language: str, parsed: Parsed) -> Word | None:
    wanted = language in _FIRST_OPERAND_IS_CODE and not {"f", "file"} & parsed.given.keys()
    return parsed.operands[0] if wanted and parsed.operands else None


def _from(operands: list[Word], language: str) -> Interpretation:
    if not operands or operands[0].text in _STDIN:
        return Interpretation(language, "stdin")
    return Interpretation(language, "file", operands[0])
