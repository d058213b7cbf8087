"""The tool `write`: put a whole file in its place (BOX-3)."""

from typing import Annotated, Any

from interlock.provider import Arg, DryRunResult, Tool, ToolContext, ToolResult, tool
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
from interlock.toolbox.diffs import Change, change
from interlock.toolbox.errors import OutcomeUnknownError
from interlock.toolbox.operations import Snapshot

Content = Annotated[str, Arg(description="The whole content that the file shall have")]

NEW_FILE_MODE = 0o644


def write_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    write = _Write(bench)
    made = tool(
        name="write",
        aliases=("write_file",),
        title="Write a file",
        description=(
            "Write a whole text file, replacing what is there; directories on the way are made. "
            "To change part of a file, use edit."
        ),
        read_only=False,
        destructive=False,
        concurrency_safe=False,
        open_world=False,
        permission_class="file",
        audit_operation="write",
        knows_workdir=True,
        search_hint="create save overwrite new file",
        reversible=True,
        undo_tool=RESTORE,
        affected_resources=("the file at path",),
        prompt_snippet="write: create a file or replace all of it",
        prompt_guidelines=(
            "Use write for new files and complete rewrites only; use edit for changes to a file that is there.",
        ),
        checks_state=True,
    )(write.run)
    made.dry_run(write.preview)
    made.render_call(write.render_call)
    made.render_result(result_rendering)
    return made


class _Write:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.operations.files

    def preview(self, path: str, content: str, ctx: ToolContext) -> DryRunResult:
        """What would be written."""
        with in_words(ctx):
            before = self._files.snapshot(self._bench.place(path, ctx))
        name = self._bench.shown(before.place, ctx)
        difference = change(name, before.content, content.encode())
        new = "new file\n" if before.content is None else ""
        return DryRunResult(
            would_affect=[*(f"{self._bench.shown(place, ctx)}/" for place in before.missing), name],
            preview=f"{new}{difference.shown}",
            estimated_impact={
                "files": 1,
                "new_file": before.content is None,
                "lines_added": difference.added,
                "lines_removed": difference.removed,
            },
            state_token=before.token,
            label=f"write {name}",
        )

    def run(self, path: FilePath, content: Content, ctx: ToolContext) -> ToolResult:
        """Write it."""
        with in_words(ctx):
            before = self._files.snapshot(self._bench.place(path, ctx))
            check_previewed(before.token, before.place, ctx)
            mode = before.mode if before.content is not None else NEW_FILE_MODE
            record = self._bench.undo.of_replacing(before, content.encode(), mode)
            name = self._bench.shown(before.place, ctx)
            try:
                self._files.replace(before, content.encode(), mode)
            except OutcomeUnknownError as error:
                return outcome_unknown(error, undo_info(record, _undo_sentence(name, before)))
        return ToolResult(
            content=_sentence(name, before, content),
            details=written_details(name, before, change(name, before.content, content.encode())),
            undo=undo_info(record, _undo_sentence(name, before)),
        )

    def render_call(self, path: str, content: str) -> tuple[str, str]:
        """What a person reads about the call."""
        return f"write {path} ({_size(content)})", content


def written_details(name: str, before: Snapshot, difference: Change) -> dict[str, Any]:
    """What programs and people read about a file that was written."""
    return {
        "path": name,
        "new_file": before.content is None,
        "lines_added": difference.added,
        "lines_removed": difference.removed,
        "diff": difference.shown,
    }


def _size(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return f"{counted(lines, 'line')}, {counted(len(content.encode()), 'byte')}"


def _sentence(name: str, before: Snapshot, content: str) -> str:
    if before.content is None:
        return f"Wrote {name}, a new file: {_size(content)}"
    return f"Wrote {name}: {_size(content)} in place of {counted(len(before.content), 'byte')}"


def _undo_sentence(name: str, before: Snapshot) -> str:
    if before.content is None:
        return f"remove {name}, which was new"
    return f"put the previous content of {name} back ({counted(len(before.content), 'byte')})"
