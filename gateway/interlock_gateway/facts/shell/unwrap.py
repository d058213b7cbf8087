"""Finds what a command runs in its turn, however it is wrapped."""

import re
import shlex
from dataclasses import replace

from interlock_gateway.facts.shell import interpreters
from interlock_gateway.facts.shell.building import fed
from interlock_gateway.facts.shell.effects import UNKNOWN, Effects, Interpretation, Run
from interlock_gateway.facts.shell.options import Parsed, parse
from interlock_gateway.facts.shell.programs import PROGRAMS, option_scripts
from interlock_gateway.facts.shell.reading import Word
from interlock_gateway.facts.shell.wrapper_table import SUBCOMMANDS, WRAPPERS, Tail, Wrapper

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SPLIT = ("S", "split-string")
_USER_ONLY = 99


def effects(name: str, words: list[Word]) -> Effects:
    """What the command `words`, whose program is called `name`, runs and interprets."""
    found = _effects(name, words)
    return found if found.interprets else replace(found, interprets=fed(name, words))


def _effects(name: str, words: list[Word]) -> Effects:
    program = PROGRAMS.get(name)
    if program:
        return program(words)
    if name in SUBCOMMANDS and len(words) > 1:
        wrapper, rest = WRAPPERS.get(f"{name} {words[1].text}"), words[2:]
    else:
        wrapper, rest = WRAPPERS.get(name), words[1:]
    if wrapper:
        return _wrapped(wrapper, parse(rest, wrapper.options))
    runs = option_scripts(name, words)
    return Effects(runs) if runs else interpreters.other(name, words)


def assignment(word: Word) -> Word | None:
    """NAME=VALUE given as a plain word, as an assignment."""
    match = _ASSIGNMENT.fullmatch(word.text)
    return Word(match[2], word.source, word.quoted, name=match[1]) if match else None


def _wrapped(wrapper: Wrapper, parsed: Parsed) -> Effects:
    if parsed.known and any(option in parsed.given for option in wrapper.stops):
        return Effects()
    moved = wrapper.moves is None or any(option in parsed.given for option in wrapper.moves)
    scripts = [word for option, word in parsed.given.items() if option in wrapper.script and word]
    runs = [Run(script=word.script, moved=moved) for word in scripts]
    operands = parsed.operands[wrapper.skip :]
    if wrapper.skip == _USER_ONLY and len(parsed.operands) > 1:
        runs.append(UNKNOWN)
    assigned: list[Word] = []
    for word in operands if wrapper.assigns else ():
        found = assignment(word)
        if found is None:
            break
        assigned.append(found)
    operands = operands[len(assigned) :]
    split = next((word for option, word in parsed.given.items() if option in _SPLIT and wrapper.assigns and word), None)
    if split is not None and wrapper is WRAPPERS["env"]:
        runs.append(Run(script=" ".join([split.text, *(shlex.quote(word.text) for word in operands)]), moved=moved))
    elif operands:
        runs += _tail(wrapper, parsed, operands, tuple(assigned), moved=moved)
    if not parsed.known:
        runs.append(UNKNOWN)
    shell = wrapper.starts_shell is None or any(option in parsed.given for option in wrapper.starts_shell)
    writes = tuple(word for option, word in parsed.given.items() if option in wrapper.writes and word)
    return Effects(tuple(runs), Interpretation("shell", "stdin") if shell and not runs else None, writes)


def _tail(
    wrapper: Wrapper, parsed: Parsed, operands: list[Word], assigned: tuple[Word, ...], *, moved: bool
) -> list[Run]:
    direct = any(option in parsed.given for option in wrapper.direct)
    if wrapper.tail is Tail.COMMAND or direct:
        return [Run(tuple(operands), assignments=assigned, moved=moved)]
    if wrapper.tail is Tail.EACH:
        return [Run(script=word.script, moved=moved) for word in operands]
    return [Run(script=" ".join(word.script for word in operands), moved=moved)]
