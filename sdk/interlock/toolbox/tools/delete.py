"""The tool `delete`: move a file or directory to the trash (BOX-5)."""

from typing import Annotated, Any

from interlock.provider import Arg, DryRunResult, Tool, ToolContext, ToolResult, tool
from interlock.toolbox.binding import (
    RESTORE,
    Workbench,
    check_previewed,
    counted,
    in_words,
    outcome_unknown,
    result_rendering,
    undo_info,
)
from interlock.toolbox.errors import OutcomeUnknownError
from interlock.toolbox.operations import Kind, Tree
from interlock.toolbox.places import readable

MIN_CONFIDENCE = 70
MAX_LISTED = 200

AnyPath = Annotated[
    str,
    Arg(description="The file or directory, relative to the working directory or absolute", fact="path", min_length=1),
]


def delete_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    delete = _Delete(bench)
    made = tool(
        name="delete",
        aliases=("delete_file",),
        title="Delete a file or directory",
        description=(
            "Delete a file, a symbolic link (not what it leads to) or a directory with all that is in it. "
            "It goes to a trash and can be restored from there."
        ),
        read_only=False,
        destructive=True,
        concurrency_safe=False,
        open_world=False,
        permission_class="file",
        audit_operation="delete",
        knows_workdir=True,
        search_hint="remove trash rm",
        reversible=True,
        undo_tool=RESTORE,
        min_confidence=MIN_CONFIDENCE,
        affected_resources=("what is at path, and all beneath it",),
        prompt_snippet="delete: remove a file or directory, which can be restored",
        prompt_guidelines=("Use delete rather than bash with rm: it shows what would go, and can be undone.",),
        checks_state=True,
    )(delete.run)
    made.dry_run(delete.preview)
    made.render_call(delete.render_call)
    made.render_result(result_rendering)
    return made


class _Delete:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.operations.files

    def preview(self, path: str, ctx: ToolContext) -> DryRunResult:
        """What would go."""
        with in_words(ctx):
            tree = self._files.tree(self._bench.place(path, ctx), MAX_LISTED)
        name = self._bench.shown(tree.place, ctx)
        more = f"\n[... and {tree.count - len(tree.names):,} more]" if tree.count > len(tree.names) else ""
        return DryRunResult(
            would_affect=[_under(name, one) for one in tree.names],
            preview=f"delete {_what(tree, name)}\n" + "\n".join(_under(name, one) for one in tree.names) + more,
            estimated_impact={"entries": tree.count, "bytes": tree.total_bytes},
            state_token=tree.token,
            label=f"delete {name}",
        )

    def run(self, path: AnyPath, ctx: ToolContext) -> ToolResult:
        """Delete it."""
        with in_words(ctx):
            tree = self._files.tree(self._bench.place(path, ctx), 0)
            check_previewed(tree.token, tree.place, ctx)
            record = self._bench.undo.of_trashing(tree)
            name = self._bench.shown(tree.place, ctx)
            undo = undo_info(record, f"move {name} back from the trash")
            try:
                self._files.trash(tree, record.record_id)
            except OutcomeUnknownError as error:
                return outcome_unknown(error, undo)
        return ToolResult(
            content=f"Deleted {_what(tree, name)}. It is in the trash and can be restored",
            details={"path": name, "kind": str(tree.kind), "entries": tree.count, "bytes": tree.total_bytes},
            undo=undo,
        )

    def render_call(self, path: str) -> str:
        """What a person reads about the call."""
        return f"delete {path}"


def _under(name: str, inside: str) -> str:
    """A path in the tree, in which the first name stands for the tree's own place."""
    _, slash, rest = inside.partition("/")
    return readable(name + slash + rest)


def _what(tree: Tree, name: str) -> str:
    size = counted(tree.total_bytes, "byte")
    if tree.kind is Kind.DIRECTORY:
        return f"the directory {name} with {counted(tree.count - 1, 'entry', 'entries')} in it, {size}"
    return f"the symbolic link {name}" if tree.kind is Kind.LINK else f"the file {name}, {size}"
