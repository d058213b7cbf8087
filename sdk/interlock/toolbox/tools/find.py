"""The tools `glob` and `list`: which files there are (BOX-7)."""

import time
from typing import Annotated, Any

from interlock.provider import Arg, Tool, ToolContext, ToolError, ToolResult, tool
from interlock.toolbox.binding import DirectoryPath, Workbench, counted, in_words, result_rendering
from interlock.toolbox.errors import LOST, OperationError
from interlock.toolbox.globs import BadGlobError, glob
from interlock.toolbox.operations import Kind, Place
from interlock.toolbox.places import readable
from interlock.toolbox.walking import Visited, Walk

MAX_RESULTS = 1000
MAX_DEPTH = 10
TIME_S = 30.0

Pattern = Annotated[
    str,
    Arg(
        description="Which paths, relative to the directory: * and ? within a name, ** for any directories, "
        "[abc], {one,other}; such as **/*.py",
        min_length=1,
    ),
]
Depth = Annotated[int, Arg(description="How many levels of directories to show", min=1, max=MAX_DEPTH)]
WithIgnored = Annotated[bool, Arg(description="Show what .gitignore and .ignore files leave out, too")]


def glob_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool `glob`, working on a bench."""
    made = tool(
        name="glob",
        aliases=("find_files",),
        title="Find files by name",
        description=f"Find files and links whose path matches a pattern, sorted by path, at most {MAX_RESULTS}.",
        read_only=True,
        destructive=False,
        concurrency_safe=True,
        open_world=False,
        permission_class="file",
        audit_operation="read",
        knows_workdir=True,
        search_hint="find search file names pattern",
        prompt_snippet="glob: find files by a pattern of their path",
        prompt_guidelines=("Use glob and grep rather than bash with find, ls or grep.",),
    )(_Find(bench).glob)
    made.render_call(_glob_call)
    made.render_result(result_rendering)
    return made


def list_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool `list`, working on a bench."""
    made = tool(
        name="list",
        aliases=("list_files",),
        title="List a directory",
        description=(
            f"List what is in a directory, sorted, directories with a / at the end, at most {MAX_RESULTS} entries."
        ),
        read_only=True,
        destructive=False,
        concurrency_safe=True,
        open_world=False,
        permission_class="file",
        audit_operation="read",
        knows_workdir=True,
        search_hint="directory folder ls tree",
        prompt_snippet="list: see what is in a directory",
        prompt_guidelines=("Use glob and grep rather than bash with find, ls or grep.",),
    )(_Find(bench).list)
    made.render_call(_list_call)
    made.render_result(result_rendering)
    return made


def bounded_walk(bench: Workbench, ctx: ToolContext, *, ignored: bool, until: float) -> Walk:
    """A walk that ends when its time is up or nobody waits for it."""
    return Walk(
        bench.operations.files,
        ignore=not ignored,
        stop=lambda: ctx.cancelled or time.monotonic() > until,
    )


def walk_notes(walk: Walk) -> list[str]:
    """What to say about a walk that did not see everything."""
    notes = ["[there are too many files to look at all of them; name a directory further down]"] if walk.cut else []
    if walk.unreadable:
        notes.append(f"[{walk.unreadable} of the directories could not be read]")
    return notes


class _Find:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def glob(
        self, pattern: Pattern, ctx: ToolContext, *, path: DirectoryPath = ".", ignored: WithIgnored = False
    ) -> ToolResult:
        """Find them."""
        try:
            wanted = glob(pattern)
        except BadGlobError as error:
            raise ToolError(str(error)) from error
        walk = bounded_walk(self._bench, ctx, ignored=ignored, until=time.monotonic() + TIME_S)
        walk.enter = wanted.may_match_below
        with in_words(ctx):
            start = self._bench.place(path, ctx)
            found = [
                self._bench.shown(one.place, ctx)
                for one in walk.through(start)
                if one.entry.kind is not Kind.DIRECTORY and wanted.matches(one.parts)
            ]
        return _listed(found, walk, counted(len(found), "file"), f"No file matches {pattern}")

    def list(
        self, ctx: ToolContext, *, path: DirectoryPath = ".", depth: Depth = 1, ignored: WithIgnored = False
    ) -> ToolResult:
        """List it."""
        walk = bounded_walk(self._bench, ctx, ignored=ignored, until=time.monotonic() + TIME_S)
        walk.max_depth = depth
        with in_words(ctx):
            found = [self._line(one) for one in walk.through(self._bench.place(path, ctx))]
        return _listed(found, walk, counted(len(found), "entry", "entries"), "The directory is empty")

    def _line(self, one: Visited) -> str:
        indent = "  " * (len(one.parts) - 1)
        name = readable(one.parts[-1])
        match one.entry.kind:
            case Kind.DIRECTORY:
                return f"{indent}{name}/"
            case Kind.LINK:
                return f"{indent}{name} -> {self._target(one.place)}"
            case Kind.FILE:
                return f"{indent}{name} ({counted(one.entry.size, 'byte')})"
            case Kind.SPECIAL:
                return f"{indent}{name} (special)"

    def _target(self, link: Place) -> str:
        try:
            return readable(self._bench.operations.files.read_link(link))
        except LOST:
            raise
        except OperationError:
            return "?"  # it was replaced while the directory was listed


def _listed(found: list[str], walk: Walk, summary: str, nothing: str) -> ToolResult:
    notes = walk_notes(walk)
    if len(found) > MAX_RESULTS:
        notes.append(f"[{len(found) - MAX_RESULTS:,} more are left out; narrow it]")
    lines = found[:MAX_RESULTS] or [nothing]
    return ToolResult(
        content="\n".join([*lines, *notes]),
        details={"summary": f"{summary} found", "count": len(found), "complete": not walk.cut and not walk.unreadable},
    )


def _glob_call(pattern: str, path: str = ".") -> str:
    return f"find {pattern}" + ("" if path == "." else f" in {path}")


def _list_call(path: str = ".") -> str:
    return f"list {path}"
