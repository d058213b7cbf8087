"""Programs that run others in a way of their own: `find -exec`, `xargs`, `parallel`, `git -c alias.x=!...`."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from interlock_gateway.facts.shell import feeding, interpreters
from interlock_gateway.facts.shell.building import coverage
from interlock_gateway.facts.shell.effects import NOTHING, UNKNOWN, Effects, Interpretation, Run
from interlock_gateway.facts.shell.options import Options, parse, shortened
from interlock_gateway.facts.shell.reading import HOLE, Word

_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FD_EXEC = frozenset({"-x", "--exec", "-X", "--exec-batch"})
_FD_HOLES = re.compile(r"\{(?:|/|//|\.|/\.)\}")
_XARGS = Options(
    "0oprtx",
    "aEIdLnPsJRS",
    "eil",
    "exit eof interactive max-lines no-run-if-empty null open-tty replace show-limits verbose",
    "arg-file delimiter max-args max-chars max-procs process-slot-var",
)
_XARGS_PLAIN = frozenset({"0", "I", "P", "n", "r", "t", "null", "max-args", "max-procs", "no-run-if-empty", "verbose"})
"""Options of `xargs` with which it gives to a command what it reads, and nothing else."""
_PARALLEL = Options(
    "0kmqtuvX",
    "jIaLNnPSd",
    "",
    "bar dry-run eta keep-order line-buffer null progress quote tag ungroup will-cite",
    "arg-file delay delimiter halt jobs joblog max-args max-procs results retries timeout",
)
_PARALLEL_ARGUMENTS = re.compile(r":::{1,2}\+?")
_PARALLEL_HOLES = re.compile(r"\{[^{}\s,]*\}")
_FLOCK = Options(
    "exsnuFov",
    "wE",
    "",
    "shared exclusive unlock nonblock nb close no-fork verbose",
    "timeout wait conflict-exit-code",
)
_SCRIPT = Options("aefqr", "cIOBEmoT", "t", "append flush force quiet return", "command log-io log-out log-in")
_GIT_RUNS = re.compile(
    r"(?:alias\..*?=!|credential\..*?helper=!?|core\.(?:sshcommand|pager|editor|fsmonitor|askpass)=|pager\.[^=]*="
    r"|diff\.(?:external|.*\.(?:command|textconv))=|(?:filter|merge|difftool|mergetool)\..*?="
    r"|gpg\.(?:.*\.)?program=|sequence\.editor=|uploadpack\.packobjectshook=)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_GIT_SCRIPTS = ("--exec", "--tree-filter", "--index-filter", "--msg-filter", "--upload-pack", "--receive-pack")
_OPTION_SCRIPTS = {
    "tar": {
        "--to-command",
        "--use-compress-program",
        "-I",
        "-F",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
    },
    "rsync": {"-e", "--rsh"},
    "scp": {"-S"},
    "sftp": {"-S"},
    "split": {"--filter"},
    "sort": {"--compress-program"},
    "man": {"-P", "--pager"},
    "zip": {"-TT", "--unzip-command"},
    "make": {"--eval"},
}


# The letters up to one that takes the rest of the word for its value in most programs.
_LETTERS = re.compile(r"-[A-Za-z]+?(?=[fC]|[^A-Za-z]|\Z)")


def _holed(words: list[Word], holes: re.Pattern[str]) -> tuple[Word, ...]:
    return tuple(
        Word(holes.sub(HOLE, word.text), word.source, word.quoted, word.glob, word.tilde)
        if holes.search(word.text)
        else word
        for word in words
    )


_BRACES = re.compile(r"\{\}")


def _find(words: list[Word]) -> Effects:
    runs: list[Run] = []
    writes: list[Word] = []
    understood = feeding.finding(words)
    index = 1
    while index < len(words):
        text, at = words[index].text, index
        index += 1
        if text in _FIND_EXEC:
            start, index = index, feeding.end_of_exec(words, index)
            given = understood and feeding.given_last(words[start:index], "{}")
            if understood and given:
                runs.append(Run(given, fed=understood.runs[at]))
                continue
            plus = index < len(words) and words[index].text == "+"
            runs.append(Run(_holed(words[start:index], _BRACES), appended=plus, moved=text.endswith("dir")))
        elif text == "-delete":
            runs.append(Run((Word("rm", text),), appended=True, implied=True))
        elif text in _FIND_WRITES:
            writes += words[index : index + 1]
    return Effects(tuple(runs), None, tuple(writes), feeds=bool(runs) and all(run.fed for run in runs))


def _fd(words: list[Word]) -> Effects:
    index = next((i for i, word in enumerate(words) if word.text in _FD_EXEC), None)
    if index is None:
        return NOTHING
    end = next((i for i, word in enumerate(words) if i > index and word.text == ";"), len(words))
    return Effects((Run(_holed(words[index + 1 : end], _FD_HOLES), appended=True),))


def fed_by_pipe(words: list[Word], stages: Sequence[feeding.Stage]) -> Effects | None:
    """What `xargs` does behind `stages` of a pipeline, where these give it names of found files and no more."""
    parsed = parse(words[1:], _XARGS)
    if not parsed.known or not parsed.operands or parsed.given.keys() - _XARGS_PLAIN:
        return None
    if any(word.glob or word.tilde or word.literal is None for word in words):
        return None
    mark = parsed.given.get("I")
    operands = parsed.operands if mark else [*parsed.operands, Word("{}", "")]
    given = feeding.given_last(operands, mark.text if mark else "{}")
    found = feeding.piped(stages, zero=bool({"0", "null"} & parsed.given.keys()))
    return Effects((Run(given, fed=found),), feeds=True) if given and found else None


def _xargs(words: list[Word]) -> Effects:
    parsed = parse(words[1:], _XARGS)
    runs: tuple[Run, ...] = () if parsed.known else (UNKNOWN,)
    if not parsed.operands:
        return Effects(runs)
    replaced = next((option for option in ("I", "J", "i", "replace") if option in parsed.given), None)
    if replaced is None:
        return Effects((Run(tuple(parsed.operands), appended=True), *runs))
    mark = parsed.given[replaced]
    pattern = re.compile(re.escape((mark.text if mark else "") or "{}"))
    return Effects((Run(_holed(parsed.operands, pattern)), *runs))


def _parallel(words: list[Word]) -> Effects:
    parsed = parse(words[1:], _PARALLEL)
    runs: tuple[Run, ...] = () if parsed.known else (UNKNOWN,)
    texts = [word.text for word in parsed.operands]
    split = next((i for i, text in enumerate(texts) if _PARALLEL_ARGUMENTS.fullmatch(text)), len(texts))
    if split:
        script = _PARALLEL_HOLES.sub(HOLE, " ".join(texts[:split]))
        return Effects((Run(script=f"{script} {HOLE}"), *runs))
    if split == len(texts):
        return Effects(runs, Interpretation("shell", "stdin"))
    return Effects((*(Run(script=text) for text in texts[1:] if not _PARALLEL_ARGUMENTS.fullmatch(text)), *runs))


def _flock(words: list[Word]) -> Effects:
    parsed = parse(words[1:], _FLOCK)
    runs: tuple[Run, ...] = () if parsed.known else (UNKNOWN,)
    rest = parsed.operands[1:]
    if rest and rest[0].text in {"-c", "--command"}:
        return Effects((*(Run(script=word.script) for word in rest[1:2]), *runs))
    return Effects((Run(tuple(rest)), *runs)) if rest else Effects(runs)


def _script(words: list[Word]) -> Effects:
    parsed = parse(words[1:], _SCRIPT)
    runs: tuple[Run, ...] = () if parsed.known else (UNKNOWN,)
    given = [word for option, word in parsed.given.items() if option in {"c", "command"} and word]
    if given:
        return Effects((*(Run(script=word.script) for word in given), *runs))
    if parsed.operands[1:]:
        return Effects((Run(tuple(parsed.operands[1:])), *runs))
    return Effects(runs, Interpretation("shell", "stdin"))


def _trap(words: list[Word]) -> Effects:
    operands = parse(words[1:], Options("lp")).operands
    runs = operands[:1] if operands and operands[0].text != "-" else []
    return Effects(tuple(Run(script=word.script, moved=True) for word in runs))


def _alias(words: list[Word]) -> Effects:
    values = (word.text.partition("=")[2] for word in words[1:])
    # What follows the alias where it is used is appended to its text.
    return Effects(tuple(Run(script=f"{value} {HOLE}", moved=True) for value in values if value))


def _git(words: list[Word]) -> Effects:
    texts = [word.text for word in words]
    settings = (following for text, following in pairwise(texts) if text == "-c")
    runs = [Run(script=match[1]) for match in map(_GIT_RUNS.fullmatch, settings) if match]
    if "submodule" in texts and "foreach" in texts:
        operands = [text for text in texts[texts.index("foreach") + 1 :] if not text.startswith("-")]
        runs += [Run(script=" ".join(operands), moved=True)] if operands else []
    if "bisect" in texts and "run" in texts:
        runs.append(Run(tuple(words[texts.index("run") + 1 :])))
    for index, text in enumerate(texts):
        option, equals, value = text.partition("=")
        if option == "-x" or any(shortened(option, known) for known in _GIT_SCRIPTS):
            runs += [Run(script=script) for script in ([value] if equals else texts[index + 1 : index + 2])]
    return Effects(tuple(runs))


def option_scripts(name: str, words: list[Word]) -> tuple[Run, ...]:
    """The scripts that the options of programs such as `tar --to-command` name."""
    options = _OPTION_SCRIPTS.get(name, set())
    runs: list[Run] = []
    for index, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if shortened(option, "--checkpoint-action") and value.startswith("exec="):
            runs.append(Run(script=value.removeprefix("exec=")))
        elif option in options or any(shortened(option, known) for known in options):
            runs += (
                [Run(script=value)] if equals else [Run(script=word.script) for word in words[index + 1 : index + 2]]
            )
        else:
            runs += _behind_letters(words, index, options)
    return tuple(runs)


def _behind_letters(words: list[Word], index: int, options: set[str]) -> list[Run]:
    """The script of an option that stands in one word with others before it, or with its value behind it."""
    match = _LETTERS.match(words[index].text) if options else None
    at = next((at for at, letter in enumerate(match[0]) if at and f"-{letter}" in options), None) if match else None
    if at is None:
        return []
    rest = words[index].text[at + 1 :]
    return [Run(script=rest)] if rest else [Run(script=word.script) for word in words[index + 1 : index + 2]]


def _reads_commands(_words: list[Word]) -> Effects:
    return Effects(interprets=Interpretation("shell", "stdin"))


def _crontab(words: list[Word]) -> Effects:
    operands = parse(words[1:], Options("ler", "u")).operands
    source = "stdin" if not operands or operands[0].text == "-" else "file"
    return Effects(interprets=Interpretation("crontab", source, operands[0] if source == "file" else None))


PROGRAMS: dict[str, Callable[[list[Word]], Effects]] = {
    ".": interpreters.source,
    "alias": _alias,
    "at": _reads_commands,
    "batch": _reads_commands,
    "coverage": coverage,
    "coverage3": coverage,
    "crontab": _crontab,
    "fd": _fd,
    "fdfind": _fd,
    "find": _find,
    "flock": _flock,
    "gfind": _find,
    "git": _git,
    "gxargs": _xargs,
    "parallel": _parallel,
    "script": _script,
    "source": interpreters.source,
    "trap": _trap,
    "xargs": _xargs,
} | dict.fromkeys(interpreters.SHELLS, interpreters.shell)
