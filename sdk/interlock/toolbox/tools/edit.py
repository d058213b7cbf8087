"""The tool `edit`: exact search and replace in a file (BOX-4)."""

from dataclasses import dataclass
from typing import Annotated, Any

from interlock.provider import Arg, DryRunResult, Tool, ToolContext, ToolError, ToolResult, tool
from interlock.toolbox.binding import (
    RESTORE,
    FilePath,
    Workbench,
    check_previewed,
    counted,
    in_words,
    outcome_unknown,
    result_rendering,
    undo_info,
)
from interlock.toolbox.diffs import change
from interlock.toolbox.editing import EditError, replaced
from interlock.toolbox.errors import MissingError, OutcomeUnknownError
from interlock.toolbox.operations import Snapshot
from interlock.toolbox.textfiles import NotTextError, decoded
from interlock.toolbox.tools.write import written_details

OldString = Annotated[str, Arg(description="The exact text to replace, with its blanks and line breaks", min_length=1)]
NewString = Annotated[str, Arg(description="The text to put in its place")]
ReplaceAll = Annotated[bool, Arg(description="Replace every occurrence; otherwise there has to be exactly one")]


def edit_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    edit = _Edit(bench)
    made = tool(
        name="edit",
        aliases=("edit_file",),
        title="Edit a file",
        description=(
            "Replace an exact piece of text in a file. old_string has to occur exactly once, unless replace_all is "
            "set. Line ends and a byte order mark stay as they are."
        ),
        read_only=False,
        destructive=False,
        concurrency_safe=False,
        open_world=False,
        permission_class="file",
        audit_operation="edit",
        knows_workdir=True,
        search_hint="change modify replace patch",
        reversible=True,
        undo_tool=RESTORE,
        affected_resources=("the file at path",),
        prompt_snippet="edit: replace an exact piece of text in a file",
        prompt_guidelines=(
            "Read a file before editing it, and copy old_string from it exactly.",
            "Use write for new files and complete rewrites only; use edit for changes to a file that is there.",
        ),
        checks_state=True,
    )(edit.run)
    made.dry_run(edit.preview)
    made.render_call(edit.render_call)
    made.render_result(result_rendering)
    return made


@dataclass(frozen=True, slots=True)
class _Edited:
    name: str
    before: Snapshot
    content: bytes
    count: int


class _Edit:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.operations.files

    def _edited(self, path: str, old: str, new: str, ctx: ToolContext, *, replace_all: bool) -> _Edited:
        before = self._files.snapshot(self._bench.place(path, ctx))
        check_previewed(before.token, before.place, ctx)
        if before.content is None:
            raise MissingError(path)
        name = self._bench.shown(before.place, ctx)
        try:
            file = decoded(before.content)
            text, count = replaced(file.text, file.shaped(old), file.shaped(new), replace_all=replace_all, name=name)
        except NotTextError as error:
            raise ToolError(f"{name} {error}") from error
        except EditError as error:
            raise ToolError(str(error)) from error
        return _Edited(name, before, file.encoded(text), count)

    def preview(
        self, path: str, old_string: str, new_string: str, ctx: ToolContext, *, replace_all: bool = False
    ) -> DryRunResult:
        """What would change."""
        with in_words(ctx):
            edited = self._edited(path, old_string, new_string, ctx, replace_all=replace_all)
        difference = change(edited.name, edited.before.content, edited.content)
        return DryRunResult(
            would_affect=[edited.name],
            preview=difference.shown,
            estimated_impact={
                "files": 1,
                "replacements": edited.count,
                "lines_added": difference.added,
                "lines_removed": difference.removed,
            },
            state_token=edited.before.token,
            label=f"edit {edited.name}",
        )

    def run(
        self,
        path: FilePath,
        old_string: OldString,
        new_string: NewString,
        ctx: ToolContext,
        *,
        replace_all: ReplaceAll = False,
    ) -> ToolResult:
        """Make the change."""
        with in_words(ctx):
            edited = self._edited(path, old_string, new_string, ctx, replace_all=replace_all)
            record = self._bench.undo.of_replacing(edited.before, edited.content, edited.before.mode)
            undo = undo_info(record, f"take the edit of {edited.name} back")
            try:
                self._files.replace(edited.before, edited.content, edited.before.mode)
            except OutcomeUnknownError as error:
                return outcome_unknown(error, undo)
        difference = change(edited.name, edited.before.content, edited.content)
        return ToolResult(
            content=f"Edited {edited.name}: {counted(edited.count, 'replacement')}",
            details={**written_details(edited.name, edited.before, difference), "replacements": edited.count},
            undo=undo,
        )

    def render_call(self, path: str, old_string: str, new_string: str, *, replace_all: bool = False) -> tuple[str, str]:
        """What a person reads about the call."""
        removed = "\n".join(f"- {line}" for line in old_string.splitlines())
        added = "\n".join(f"+ {line}" for line in new_string.splitlines())
        every = " (every occurrence)" if replace_all else ""
        return f"edit {path}{every}", f"{removed}\n{added}"
