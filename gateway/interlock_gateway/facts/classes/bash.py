"""Facts of the permission class `bash`: every command a script would run."""

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.facts.arguments import Argument, find
from interlock_gateway.facts.places import Workspace
from interlock_gateway.facts.registry import Extractor, Section
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.facts.shell.document import document
from interlock_gateway.facts.shell.schema import BASH_SCHEMA
from interlock_gateway.facts.shell.survey import Survey

_DIRECTORY_NAMES = ("cwd", "workdir", "working_directory", "workingDirectory")
_LISTS_OF_SCRIPTS = frozenset({"commands", "scripts"})


def _extract(request: FactRequest) -> Section:
    arguments = find(request, "command")
    if arguments.missing or not arguments.given or arguments.truncated:
        wanted = ", ".join(arguments.missing) or "/command"
        return Section(None, f"no argument that holds the command was found (looked for {wanted})")
    survey = Survey()
    problems = [problem for argument in arguments.given if (problem := _take(survey, argument))]
    workspace, problem = _workspace(request)
    facts: JsonObject = document(survey, workspace)
    problems += [problem] if problem else []
    return Section(facts, problems[0] if problems else None)


def _take(survey: Survey, argument: Argument) -> str | None:
    value = argument.value
    if isinstance(value, str):
        survey.take_script(value)
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return f"{argument.pointer} is neither a string nor a list of strings"
    if argument.name in _LISTS_OF_SCRIPTS:
        for item in value:
            survey.take_script(item)
        return None
    survey.take_words(list(value))
    return None


def _workspace(request: FactRequest) -> tuple[Workspace, str | None]:
    """Where the script starts: in the directory its own arguments name, else in the call's."""
    for name in _DIRECTORY_NAMES:
        given = request.input.get(name)
        if given is None or given == "":
            continue
        outer = Workspace(request.workdir, request.roots, request.within)
        place = outer.locate(given) if isinstance(given, str) else None
        if place is None or place.normalised is None:
            return Workspace("", (), ()), f"/{name} names no directory that is known"
        return Workspace(place.normalised, request.roots, request.within), None
    return Workspace(request.workdir, request.roots, request.within), None


EXTRACTOR = Extractor("bash", BASH_SCHEMA, _extract)
