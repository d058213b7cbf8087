"""Turns a survey into the `bash` part of a facts document."""

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts.patterns import SPECIAL, expressions
from interlock_gateway.facts.places import Workspace
from interlock_gateway.facts.shell import outline
from interlock_gateway.facts.shell.naming import named
from interlock_gateway.facts.shell.reading import HOLE, Redirection, Scope, Word
from interlock_gateway.facts.shell.searched import MAX_NAMES, only
from interlock_gateway.facts.shell.searching import search
from interlock_gateway.facts.shell.survey import Found, Survey
from interlock_gateway.facts.shell.whereabouts import NOWHERE, Matched, Spot, Whereabouts

MAX_PATHS = 1_000
MAX_MATCHES = 500
MAX_ONLY = 16
MAX_ERRORS = 8
MAX_SHOWN = 240

_OPENS_FOR_WRITING = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})


_EXPAND = frozenset({"eslint", "git", "markdownlint", "mocha", "prettier", "stylelint"})
"""Programs that expand patterns themselves, quoted ones too."""


def document(survey: Survey, workspace: Workspace) -> JsonObject:
    """The facts about all that `survey` found; shape in `schema.py` beside this module."""
    return _Document(survey, workspace).build()


class _Document:
    def __init__(self, survey: Survey, workspace: Workspace) -> None:
        self.survey = survey
        self.places = Whereabouts(workspace, survey)
        self.commands: list[JsonValue] = []
        self.searches: list[JsonValue] = []
        self.paths: list[JsonValue] = []
        self.writes: list[JsonValue] = []
        self.pipelines: list[list[list[str | None]]] = []
        self.pipeline_of: dict[int, int] = {}
        self.dropped_paths = False
        self.matches_left = MAX_MATCHES

    def build(self) -> JsonObject:
        survey = self.survey
        for index, found in enumerate(survey.found):
            self.commands.append(self._command(index, found))
            self._search(index, found)
            self.places.enter(found)
        loose = [self._redirection(item, None, None) for item in survey.loose_redirections]
        if self.dropped_paths:
            survey.errors.append(f"more than {MAX_PATHS} paths")
        names = [found.name for found in survey.found]
        dynamic = any(_is_dynamic(found) for found in survey.found) or any(item["dynamic"] for item in loose)
        return {
            "parse_error": bool(survey.errors),
            "errors": [shown(error) for error in survey.errors[:MAX_ERRORS]],
            "dynamic": dynamic or bool(survey.hazards),
            "open": bool(survey.hazards) or any(map(_is_open, survey.found)) or any(item["dynamic"] for item in loose),
            "dynamic_name": None in names,
            "hazards": [*sorted(survey.hazards)],
            "bash_only": survey.bash_only,
            "names": [*sorted({name for name in names if name is not None})],
            "commands": self.commands,
            "pipelines": [{"stages": [list(stage) for stage in stages]} for stages in self.pipelines],
            "writes": self.writes,
            "paths": self.paths,
            "searches": self.searches,
            "assignments": [{**_assignment(word), "loop": word.loop} for word in survey.assignments],
            "functions": list(survey.functions),
            "aliases": list(survey.aliases),
            "directory": {"changed": self.places.changed, **_spot(self.places.current)},
        }

    def _command(self, index: int, found: Found) -> JsonObject:
        redirections = [self._redirection(item, index, found) for item in found.redirections]
        for word in found.effects.writes:
            self._write(index, "argument", word, self.places.spot(word, word.text, found))
        self._paths(index, found)
        pipeline, stage = self._pipeline(found)
        return {
            "name": found.name,
            "argv": [word.literal for word in found.words],
            "text": shown(found.source),
            "dynamic": _is_dynamic(found),
            "dynamic_name": found.name is None,
            "dynamic_args": any(word.literal is None for word in found.words[1:]),
            "glob": any(word.glob for word in found.words),
            "flags": outline.flags(found.words),
            "operands": outline.operands(found.words),
            "subcommand": outline.subcommand(found.name, found.words),
            "wrappers": list(found.wrappers),
            "implied": found.implied,
            "feeds": found.effects.feeds,
            "fed": found.fed is not None,
            "moved": found.moved,
            "env": [_assignment(word) for word in found.assignments],
            "redirections": [*redirections],
            "pipeline": pipeline,
            "stage": stage,
            "stdin": _stdin(found),
            "stdin_script": found.stdin_script,
            "interprets": _interprets(found),
        }

    def _redirection(self, item: Redirection, index: int | None, found: Found | None) -> JsonObject:
        duplicates = item.operator in {">&", "<&"} and (item.target.literal or "").rstrip("-").isdecimal()
        closes = item.operator in {">&", "<&"} and item.target.literal == "-"
        if duplicates or closes or item.body is not None or item.operator.startswith("<<"):
            spot = NOWHERE
        else:
            spot = self.places.spot(item.target, item.target.text, found)
            if item.operator in _OPENS_FOR_WRITING:
                self._write(index, item.operator, item.target, spot)
            self._path(index, "redirection", item.target, item.target.text, spot)
        return {
            "operator": item.operator,
            "descriptor": item.descriptor,
            "target": item.target.literal,
            "dynamic": item.target.literal is None or (item.body is not None and HOLE in item.body),
            "location": spot.location,
            "inside": spot.inside,
        }

    def _write(self, index: int | None, operator: str, word: Word, spot: Spot) -> None:
        if len(self.writes) >= MAX_PATHS:
            self.dropped_paths = True
            return
        self.writes.append(
            {
                "command": index,
                "operator": operator,
                "given": shown(word.source),
                "dynamic": word.literal is None,
                **_spot(spot),
            }
        )

    def _paths(self, index: int, found: Found) -> None:
        interprets = found.effects.interprets
        code = interprets.code if interprets else None
        for position, word in enumerate(found.words):
            if position == 0:
                if "/" in word.text:
                    self._path(index, "program", word, word.text, self.places.spot(word, word.text, found))
                continue
            if position == code or (found.fed is not None and word.text == HOLE):
                continue
            script = interprets is not None and word is interprets.script
            texts = named(word, found.name)
            paths = [*texts.certain, *(text for text in texts.others if self._names_something(text, found))]
            if not texts.certain and (script or self._names_something(word.literal, found)):
                paths.append(word.text)
            for text in paths:
                self._path(index, "script" if script else "argument", word, text, self.places.spot(word, text, found))
            if found.name in _EXPAND and not word.glob:
                for text in dict.fromkeys((word.text, *texts.certain)):
                    if SPECIAL.search(text):
                        self._own_pattern(index, word, text, found)

    def _own_pattern(self, index: int, word: Word, text: str, found: Found) -> None:
        """Note what a program finds by a pattern that no shell has expanded."""
        pattern = Word(text, word.source, glob=True)
        spot = self.places.spot(pattern, text, found)
        if spot.pattern is not None and spot.pattern.known:
            self._path(index, "argument", pattern, text, spot)

    def _names_something(self, text: str | None, found: Found) -> bool:
        if not text or text.startswith("-") or len(text) > MAX_SHOWN or len(self.paths) >= MAX_PATHS:
            return False
        return "\0" not in text and self.places.exists(text, found)

    def _path(self, index: int | None, role: str, word: Word, text: str, spot: Spot) -> None:
        if len(self.paths) >= MAX_PATHS:
            self.dropped_paths = True
            return
        self.paths.append(
            {
                "command": index,
                "role": role,
                "given": shown(word.source if HOLE in text else text),
                "dynamic": HOLE in text,
                "glob": word.glob,
                "tilde": word.tilde,
                "symlink": spot.symlink,
                "pattern": self._matched(spot.pattern) if spot.pattern else None,
                **_spot(spot),
            }
        )

    def _search(self, index: int, found: Found) -> None:
        wanted = found.fed or search(found.name or "", found.words, fed=_stdin(found) != "inherited")
        if wanted is None or (wanted.unversioned and self.places.in_working_tree(wanted, found)):
            return
        seen, top = self.places.search(wanted, found)
        if not (wanted.deep or seen.seen or top):
            return  # files, as far as can be told
        complete = seen.seen and seen.complete and wanted.known
        self.searches.append(
            {
                "command": index,
                "given": shown(found.source),
                "seen": seen.seen,
                "complete": complete,
                "top": top,
                "hidden": wanted.hidden,
                "known": wanted.known and (complete or not wanted.strays),
                "names": [*sorted(seen.names)] if seen.complete else [*sorted(seen.names)[:MAX_NAMES]],
                "endings": [*sorted(seen.endings)],
                "only": [only(text) for text in wanted.only] if len(wanted.only) <= MAX_ONLY else [],
            }
        )

    def _matched(self, pattern: Matched) -> JsonObject:
        self.matches_left -= len(pattern.paths) + len(pattern.links)
        listed = self.matches_left >= 0
        return {
            "known": pattern.known and listed,
            "matches": [_text(path) for path in pattern.paths if listed],
            "links": [_text(path) for path in pattern.links if listed],
            **expressions(list(pattern.names)),
        }

    def _pipeline(self, found: Found) -> tuple[int | None, int | None]:
        """The innermost pipeline of a command and its stage there; enters its name in every pipeline around it."""
        innermost: tuple[int | None, int | None] = (None, None)
        scope: Scope | None = found.scope
        while scope is not None:
            frame = scope.frame
            if frame is not None and frame.stages > 1:
                number = self.pipeline_of.setdefault(id(frame), len(self.pipelines))
                if number == len(self.pipelines):
                    self.pipelines.append([[] for _ in range(frame.stages)])
                self.pipelines[number][scope.stage].append(found.name)
                innermost = (number, scope.stage) if innermost[0] is None else innermost
            scope = scope.parent
        return innermost


def _is_dynamic(found: Found) -> bool:
    targets = any(item.target.literal is None for item in found.redirections)
    return found.name is None or targets or any(word.literal is None for word in found.words)


def _is_open(found: Found) -> bool:
    """Whether it is dynamic by more than names of files that a search finds."""
    targets = any(item.target.literal is None for item in found.redirections)
    return targets or (found.fed is None and _is_dynamic(found))


def _stdin(found: Found) -> str:
    for item in reversed(found.redirections):
        if item.operator.startswith("<") and item.descriptor in {None, "0"}:
            return "text" if item.body is not None else "redirect"
    scope: Scope | None = found.scope
    while scope is not None:
        if scope.stdin is not None:
            return scope.stdin
        if scope.stage:
            return "pipe"
        scope = scope.parent
    return "inherited"


def _interprets(found: Found) -> JsonObject | None:
    interpretation = found.effects.interprets
    if interpretation is None:
        return None
    script, code = interpretation.script, interpretation.code
    given = found.words[code] if code is not None and code < len(found.words) else interpretation.attached
    return {
        "language": interpretation.language,
        "source": interpretation.source,
        "script": script.literal if script else None,
        "code": given.literal if given else None,
    }


def _assignment(word: Word) -> JsonObject:
    return {"name": word.name or "", "value": word.literal}


def _spot(spot: Spot) -> dict[str, JsonValue]:
    return {"location": spot.location, "normalised": spot.normalised, "inside": spot.inside}


def _text(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")


def shown(text: str) -> str:
    """Text for a person to read, cut to a bounded length."""
    text = text.replace(HOLE, "\u2026")
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "\u2026"
