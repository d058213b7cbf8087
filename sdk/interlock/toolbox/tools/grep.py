"""The tool `grep`: search in files (BOX-7)."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from interlock.provider import Arg, Tool, ToolContext, ToolError, ToolResult, tool
from interlock.toolbox.binding import Workbench, counted, in_words, result_rendering
from interlock.toolbox.errors import LOST, OperationError
from interlock.toolbox.expressions import BadExpressionError, Expression, expression
from interlock.toolbox.globs import BadGlobError, Glob, glob
from interlock.toolbox.operations import Kind, LineMatch, Place, SearchBudget
from interlock.toolbox.searching import BATCH
from interlock.toolbox.secret_files import secret
from interlock.toolbox.tools.find import WithIgnored, bounded_walk, walk_notes
from interlock.toolbox.walking import Walk

MAX_MATCHES = 500
MAX_FILES = 1000
MAX_CONTEXT = 10
MAX_LINE_CHARACTERS = 500
MAX_CHARACTERS = 256 * 1024
TIME_S = 30.0

Wanted = Annotated[
    str,
    Arg(
        description="A regular expression that matches within a line (no look-around, no back-references), "
        "or a text if literal is set",
        min_length=1,
    ),
]
Where = Annotated[
    str,
    Arg(description="A file, or a directory to search; the working directory when left out", fact="path", min_length=1),
]
FileGlob = Annotated[
    str, Arg(description="Only files whose path in the directory matches, such as **/*.py", fact="glob")
]
Literally = Annotated[bool, Arg(description="Take the pattern for a text, not an expression")]
IgnoreCase = Annotated[bool, Arg(description="Take upper and lower case for the same")]
Context = Annotated[int, Arg(description="How many lines to show around each match", min=0, max=MAX_CONTEXT)]
Show = Annotated[Literal["lines", "files", "count"], Arg(description="Matching lines, files, or matches per file")]


def grep_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    grep = _Grep(bench)
    made = tool(
        name="grep",
        aliases=("search_text",),
        title="Search in files",
        description=(
            "Search text files for a regular expression, sorted by path. Shows matching lines as path:line:text, "
            f"at most {MAX_MATCHES}. Leaves out files that may hold secrets."
        ),
        read_only=True,
        destructive=False,
        concurrency_safe=True,
        open_world=False,
        permission_class="file",
        audit_operation="read",
        knows_workdir=True,
        search_hint="find text regular expression ripgrep content",
        prompt_snippet="grep: search in files with a regular expression",
        prompt_guidelines=("Use glob and grep rather than bash with find, ls or grep.",),
    )(grep.run)
    made.render_call(_grep_call)
    made.render_result(result_rendering)
    return made


@dataclass(frozen=True, slots=True)
class _Hit:
    place: Place
    lines: tuple[LineMatch, ...]


class _Grep:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def run(
        self,
        pattern: Wanted,
        ctx: ToolContext,
        *,
        path: Where = ".",
        glob: FileGlob = "",
        literal: Literally = False,
        ignore_case: IgnoreCase = False,
        context: Context = 0,
        show: Show = "lines",
        ignored: WithIgnored = False,
    ) -> ToolResult:
        """Search."""
        wanted, only = _understood(pattern, glob, literal=literal, ignore_case=ignore_case)
        most = 1 if show == "files" else MAX_MATCHES + 1
        budget = SearchBudget(most, time.monotonic() + TIME_S, lambda: ctx.cancelled)
        walk = bounded_walk(self._bench, ctx, ignored=ignored, until=budget.until)
        with in_words(ctx):
            start = self._bench.place(path, ctx)
            left_out: list[Place] = []
            hits = self._hits(self._files(start, walk, only, left_out), wanted, budget, show)
            kept = _kept(hits, MAX_MATCHES if show == "lines" else MAX_MATCHES * MAX_FILES)
            lines, all_shown = _bounded(self._shown(kept, show, context, ctx))
        notes = walk_notes(walk)
        if left_out:
            notes.append(f"[{counted(len(left_out), 'file')} that may hold secrets left out]")
        if kept != hits or not all_shown:
            notes.append("[there are more matches than are shown; narrow the search]")
        count = sum(len(hit.lines) for hit in kept)
        return ToolResult(
            content="\n".join([*(lines or [f"Nothing matches {pattern}"]), *notes]),
            details={
                "summary": f"{counted(count, 'matching line')} in {counted(len(kept), 'file')}",
                "matches": count,
                "files": len(kept),
                "complete": not notes,
            },
        )

    def _files(self, start: Place, walk: Walk, only: Glob | None, left_out: list[Place]) -> Iterator[Place]:
        files = self._bench.operations.files
        if files.stat(start).kind is Kind.FILE:
            yield files.resolve(start)
            return
        if only is not None:
            walk.enter = only.may_match_below
        for one in walk.through(start):
            if one.entry.kind is not Kind.FILE or not (only is None or only.matches(one.parts)):
                continue
            if secret(one.place.parts):
                left_out.append(one.place)
            else:
                yield one.place

    def _hits(self, places: Iterator[Place], wanted: Expression, budget: SearchBudget, show: str) -> list[_Hit]:
        """The files that match, until there are more than will be shown."""
        hits: list[_Hit] = []
        count = 0
        while batch := list(itertools.islice(places, BATCH)):
            found = self._bench.operations.search.lines(batch, wanted, budget)
            hits += (_Hit(place, lines) for place, lines in zip(batch, found, strict=True) if lines)
            count += sum(len(lines) for lines in found if lines)
            if len(hits) > MAX_FILES or (show == "lines" and count > MAX_MATCHES):
                break
        return hits

    def _shown(self, hits: Sequence[_Hit], show: str, context: int, ctx: ToolContext) -> Iterator[str]:
        for hit in hits:
            name = self._bench.shown(hit.place, ctx)
            if show == "files":
                yield name
            elif show == "count":
                yield f"{name}:{len(hit.lines)}{'+' if len(hit.lines) == MAX_MATCHES else ''}"
            elif context:
                yield from self._with_context(name, hit, context)
            else:
                yield from (f"{name}:{match.number}:{_cut(match.text)}" for match in hit.lines)

    def _with_context(self, name: str, hit: _Hit, context: int) -> Iterator[str]:
        matching = {match.number for match in hit.lines}
        wanted = {near for number in matching for near in range(number - context, number + context + 1)}
        last = 0
        for number, text in self._lines(hit.place, max(wanted)):
            if number in wanted:
                if last and number > last + 1:
                    yield "--"
                mark = ":" if number in matching else "-"
                yield f"{name}{mark}{number}{mark}{_cut(text)}"
                last = number
        yield "--"

    def _lines(self, place: Place, last: int) -> Iterator[tuple[int, str]]:
        try:
            with self._bench.operations.files.open(place) as file:
                for number, line in enumerate(itertools.islice(file, last), start=1):
                    yield number, line.rstrip(b"\n").removesuffix(b"\r").decode(errors="replace")
        except LOST:
            raise
        except OperationError:
            return  # it went away after it was searched


def _understood(pattern: str, only: str, *, literal: bool, ignore_case: bool) -> tuple[Expression, Glob | None]:
    try:
        return expression(pattern, literal=literal, ignore_case=ignore_case), glob(only) if only else None
    except (BadExpressionError, BadGlobError) as error:
        raise ToolError(str(error)) from error


def _cut(text: str) -> str:
    if len(text) <= MAX_LINE_CHARACTERS:
        return text
    return f"{text[:MAX_LINE_CHARACTERS]} [... the line is longer]"


def _kept(hits: Sequence[_Hit], most_lines: int) -> list[_Hit]:
    """The first of the hits, with no more files and lines than are shown."""
    kept: list[_Hit] = []
    for hit in hits[:MAX_FILES]:
        lines = hit.lines[: min(MAX_MATCHES, most_lines)]
        if lines:
            kept.append(_Hit(hit.place, lines))
        most_lines -= len(lines)
    return kept


def _bounded(lines: Iterator[str]) -> tuple[list[str], bool]:
    """The first of the lines, and whether they are all of them."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line)
        if size > MAX_CHARACTERS:
            return kept, False
        kept.append(line)
    return kept, True


def _grep_call(pattern: str, path: str = ".") -> str:
    return f"search for {pattern}" + ("" if path == "." else f" in {path}")
