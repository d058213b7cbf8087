"""What is not known of a call before it runs, and the word, variable or command that makes it so; what it touches."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from interlock_gateway.facts.shell.survey import Survey

_VARIABLE = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")
_OUTSIDE = ", outside the workspace"
_MOST = 5
_CUT = "\u2026"
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_USUAL = frozenset("\n\t ")
# What comes first says more.
_MEANINGS = {
    "alias": "gives a command another meaning",
    "dialect": "is read differently by different shells",
    "dynamic_script": "runs a script that is only known at run time",
    "indirect": "has the shell run something later, or by another name",
    "nested_evaluation": "has the shell run what stands inside of it",
    "prompt_expansion": "has the shell run what a variable holds",
}
_VARIABLES = {
    "cdpath": "decides where `cd` leads",
    "ifs": "decides where words end",
    "loader": "decides what programs load or run besides",
    "path": "decides which programs names stand for",
}


def unknowns(document: Mapping[str, Any]) -> tuple[str, ...]:
    """What the facts of a policy input do not tell, one sentence each, the most telling first."""
    call = _mapping(document, "call")
    facts = _mapping(call, "facts")
    found = [
        *_bash(_mapping(facts, "bash"), _texts(call.get("input"))),
        *_problems(_mapping(facts, "sql")),
        *_statements(_mapping(facts, "sql")),
        *_entries(_mapping(facts, "file"), "arguments"),
        *_entries(_mapping(facts, "webfetch"), "urls"),
        *([str(facts["error"])] if facts.get("error") else ()),
    ]
    return tuple(dict.fromkeys(found))


def touched(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of a script that keep it from being let through without more ado, one sentence for each kind."""
    bash = _mapping(_mapping(_mapping(document, "call"), "facts"), "bash")
    writes = [str(one.get("given")) for one in _listed(bash, "writes") if one.get("location") != "stream"]
    outside = [str(one.get("given")) for one in _listed(bash, "paths") if one.get("location") == "outside"]
    told = [("it writes", writes, ""), ("it names", [one for one in outside if one not in writes], _OUTSIDE)]
    return tuple(
        f"{verb} {', '.join(dict.fromkeys(names[:_MOST]))}{' and more' if len(names) > _MOST else ''}{where}"
        for verb, names, where in told
        if names
    )


def _bash(bash: Mapping[str, Any], given: list[str]) -> Iterator[str]:
    values = {str(one.get("name")): one.get("value") for one in _listed(bash, "assignments")}
    yield from _problems(bash)
    seen: set[str] = set()
    # The commands as they are written, before what each of them runs in turn.
    for command in sorted(_listed(bash, "commands"), key=lambda one: len(one.get("wrappers", ()))):
        text = str(command.get("text", ""))
        if text in seen or text.endswith(_CUT):
            continue
        seen.add(text)
        yield from _command(command, text, bash, values)
    yield from _hazards(bash, given)
    yield from _places(bash)


def _command(
    command: Mapping[str, Any], text: str, bash: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[str]:
    survey = Survey()
    survey.take_script(text)
    written = next((one for one in survey.found if one.source.strip() == text.strip()), None)
    holes = _holes(written)
    hazard = next((name for name in _MEANINGS if name in survey.hazards and name in bash.get("hazards", ())), None)
    if hazard is not None:
        yield f"`{text}` {_MEANINGS[hazard]}{f': {_explained(holes, values)}' if holes else ''}"
    elif command.get("dynamic_name") and not command.get("wrappers"):
        word = written.words[0].source if written is not None and written.words else "its first word"
        yield f"the program of `{text}`: {_explained([word], values)}"
    elif holes:
        yield f"{_explained(holes, values)} in `{text}`"
    elif inner := [one for one in _listed(bash, "commands") if one.get("text") == text and one.get("dynamic")]:
        # Only what it runs is not known: what `xargs` adds, what `find -exec` puts in.
        wrappers = inner[0].get("wrappers") or [command.get("name")]
        if inner[0].get("fed"):
            yield f"which files `{text}` is given: those that find finds"
        else:
            yield f"what `{text}` runs: {wrappers[-1]} makes it up at run time"


def _holes(written: Any) -> list[str]:
    """The words and targets of a command that are only known when it runs, as they are written."""
    if written is None:
        return []
    words = [*written.words, *(one.target for one in written.redirections)]
    return list(dict.fromkeys(word.source for word in words if word.literal is None and word.source))


def _explained(words: list[str], values: Mapping[str, Any]) -> str:
    """The words, and what the script sets the variables in them to."""
    names = dict.fromkeys(name for word in words for name in _VARIABLE.findall(word) if name in values)
    told = [f"{name} is set to {values[name]}" for name in names if isinstance(values[name], str)]
    told += [f"{name} is set to what is not known either" for name in names if not isinstance(values[name], str)]
    return f"{', '.join(words)} ({'; '.join(told)})" if told else ", ".join(words)


def _hazards(bash: Mapping[str, Any], given: list[str]) -> Iterator[str]:
    hazards = set(bash.get("hazards", ()))
    fed = [
        one.get("text") for one in _listed(bash, "commands") if one.get("stdin") == "text" and one.get("stdin_script")
    ]
    if "dynamic_script" in hazards:
        yield from (f"`{text}` {_MEANINGS['dynamic_script']}" for text in fed)
    if "invisible_characters" in hazards:
        unseen = {char for text in given for char in text if unicodedata.category(char) in _UNSEEN} - _USUAL
        named = [f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip() for char in sorted(unseen)]
        yield f"what nobody sees is in it: {', '.join(named) or 'invisible characters'}"
    for assignment in _listed(bash, "assignments"):
        name = str(assignment.get("name", ""))
        survey = Survey()
        survey.take_script(f"{name}=x")
        for hazard in sorted(survey.hazards & hazards & _VARIABLES.keys()):
            yield f"{name} is set, which {_VARIABLES[hazard]}"


def _places(bash: Mapping[str, Any]) -> Iterator[str]:
    commands = _listed(bash, "commands")
    moves = [str(one.get("text")) for one in commands if one.get("name") in {"cd", "pushd", "popd"}]
    for place in _listed(bash, "writes"):
        if place.get("location") == "unknown" and not place.get("dynamic"):
            after = f": the directory is not known after `{moves[-1]}`" if moves else ""
            yield f"where {place.get('given')} leads, which is written{after}"


def _problems(facts: Mapping[str, Any]) -> list[str]:
    return [f"it is not understood: {problem}" for problem in facts.get("errors", ())]


def _statements(sql: Mapping[str, Any]) -> Iterator[str]:
    for statement in _listed(sql, "statements"):
        if statement.get("problem"):
            yield f"what `{statement.get('text')}` does: {statement['problem']}"
        elif statement.get("effect") == "code":
            yield f"what `{statement.get('text')}` runs: it is written elsewhere, or made when it runs"


def _entries(facts: Mapping[str, Any], name: str) -> Iterator[str]:
    for entry in _listed(facts, name):
        if entry.get("error"):
            yield f"where {entry.get('given') or entry.get('argument')} leads: {entry['error']}"


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    inner = given.values() if isinstance(given, Mapping) else given if isinstance(given, list) else ()
    return [text for one in inner for text in _texts(one)]


def _mapping(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = node.get(name)
    return found if isinstance(found, Mapping) else {}


def _listed(node: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = node.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
