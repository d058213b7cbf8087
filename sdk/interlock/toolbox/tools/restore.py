"""The tool `restore`: take back what write, edit, delete or restore did. It is what their undo info names (UNDO-1)."""

from typing import Annotated, Any

from interlock.provider import Arg, Tool, ToolContext, ToolError, ToolResult, tool
from interlock.toolbox.binding import RESTORE, Workbench, in_words, result_rendering, undo_info
from interlock.toolbox.errors import ChangedError

RestoredPath = Annotated[str, Arg(description="The absolute path, as the undo info has it", fact="path", min_length=1)]
RecordId = Annotated[str, Arg(description="The record in the undo info", pattern="^[0-9a-f]{32}$")]


def restore_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    restore = _Restore(bench)
    made = tool(
        name=RESTORE,
        title="Restore a file or directory",
        description=(
            "Take back one write, edit, delete or restore, as its undo info says. "
            "It is refused when the file has changed since, and does nothing when it was done before."
        ),
        read_only=False,
        destructive=False,
        concurrency_safe=False,
        open_world=False,
        permission_class="file",
        audit_operation="write",
        search_hint="undo rollback revert untrash undelete",
        reversible=True,
        undo_tool=RESTORE,
        affected_resources=("the file or directory at path",),
        prompt_snippet="restore: take back one earlier change to a file, by its undo record",
        prompt_guidelines=("Ask for a rollback to undo changes; call restore only with a record you were given.",),
    )(restore.run)
    made.render_call(restore.render_call)
    made.render_result(result_rendering)
    return made


class _Restore:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def run(self, path: RestoredPath, record: RecordId, ctx: ToolContext) -> ToolResult:
        """Restore it."""
        try:
            with in_words(ctx):
                restored = self._bench.undo.restore(record, path)
        except ToolError as error:
            if isinstance(error.__cause__, ChangedError):
                raise ToolError(f"{path} has changed since, and was left alone") from error
            raise
        if restored.record is None:
            return ToolResult(content=f"{path} had been restored before", details={"changed": False})
        return ToolResult(
            content=f"Restored {path}",
            details={"changed": True},
            undo=undo_info(restored.record, f"take the restoration of {path} back"),
        )

    def render_call(self, path: str) -> str:
        """What a person reads about the call."""
        return f"restore {path} to what it was before"
