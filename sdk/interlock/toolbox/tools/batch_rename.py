"""The tool `batch_rename`: many files and directories renamed as one, after a look at the plan (BOX-8).

It changes nothing itself: it keeps a plan and pushes a pending action of its own (PREV-11), which `resolve` applies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from interlock.provider import Arg, PendingAction, Tool, ToolContext, ToolError, ToolResult, UndoInfo, tool
from interlock.toolbox.binding import (
    RESTORE,
    Workbench,
    counted,
    in_words,
    outcome_unknown,
    result_rendering,
    undo_info,
)
from interlock.toolbox.errors import OperationError
from interlock.toolbox.places import readable
from interlock.toolbox.renaming import HalfRenamedError, Renames

MAX_RENAMES = 100
"""Each names two paths, and policies look at no more than 256 of a call."""

PathNow = Annotated[
    str,
    Arg(description="The path now, relative to the working directory or absolute", fact="path", min_length=1),
]
PathThen = Annotated[
    str,
    Arg(description="The path then, in a directory that is there and the same root", fact="path", min_length=1),
]


@dataclass(frozen=True, slots=True)
class Rename:
    """One rename of the batch."""

    path: PathNow
    new_path: PathThen


Batch = Annotated[
    list[Rename],
    Arg(
        description=f"What to rename, at most {MAX_RENAMES}; names may be swapped or passed on in a circle",
        min_length=1,
        max_length=MAX_RENAMES,
    ),
]


def batch_rename_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    batch = _BatchRename(bench)
    made = tool(
        name="batch_rename",
        title="Rename many files",
        description=(
            "Plan to rename or move many files and directories at once. Nothing is renamed by this call: it shows the "
            "plan, and resolve applies all of it or discards it. Nothing is ever replaced."
        ),
        read_only=False,
        destructive=False,
        concurrency_safe=False,
        open_world=False,
        permission_class="file",
        audit_operation="write",
        knows_workdir=True,
        search_hint="move mv rename many files",
        reversible=True,
        undo_tool=RESTORE,
        affected_resources=("what is at each path, which gets its new_path",),
        prompt_snippet="batch_rename: rename or move many files as one, after a look at the plan",
        prompt_guidelines=(
            "Use batch_rename rather than bash with mv: all of it happens or nothing, and it can be undone.",
            "Put all renames that belong together into one batch_rename, then resolve its plan.",
        ),
    )(batch.run)
    made.apply(batch.apply)
    made.reject(batch.reject)
    made.render_call(batch.render_call)
    made.render_result(result_rendering)
    return made


class _BatchRename:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._renaming = bench.undo.renaming

    def run(self, renames: Batch, ctx: ToolContext) -> ToolResult:
        """Show the plan, and leave it pending."""
        with in_words(ctx):
            wanted = [(self._bench.place(one.path, ctx), self._bench.place(one.new_path, ctx)) for one in renames]
            plan = self._renaming.plan(wanted)
        shown = [
            {"path": self._bench.shown(move.old, ctx), "new_path": self._bench.shown(move.new, ctx)}
            for move in plan.moves
        ]
        label = f"rename {_counted(plan)}"
        lines = "\n".join(f"{one['path']} -> {one['new_path']}" for one in shown)
        details = {"summary": f"plan to {label}", "renames": shown}
        return ToolResult(
            content=f"This is the plan; nothing has been renamed yet.\n{lines}",
            details=details,
            pending_action=PendingAction(
                label=label, token=plan.record_id, details=details, source_tool="batch_rename"
            ),
            undo=UndoInfo(
                tool=RESTORE,
                input={"path": plan.place.path, "record": plan.record_id},
                description="withdraw the plan, which itself renamed nothing",
            ),
        )

    def apply(self, token: str) -> ToolResult:
        """Do all of it, or nothing."""
        try:
            done = self._renaming.apply(token)
        except HalfRenamedError as error:
            hidden = "\n".join(f"{move.old} may be at {move.between.path}" for move in error.log.moves)
            return outcome_unknown(error, undo_info(error.log, "give the old names back"), readable(hidden))
        except OperationError as error:
            raise ToolError(
                f"{error}. Nothing was renamed. If things are not as they were planned, discard this and plan again"
            ) from error
        lines = "\n".join(f"{readable(str(move.old))} -> {readable(str(move.new))}" for move in done.moves)
        return ToolResult(
            content=f"Renamed {_counted(done)}\n{lines}",
            details={"renamed": len(done.moves)},
            undo=undo_info(done, f"give {_counted(done)} the old names back"),
        )

    def reject(self, token: str) -> None:
        """Withdraw the plan; the gateway has the words for it."""
        try:
            self._renaming.withdraw(token)
        except OperationError as error:
            raise ToolError(str(error)) from error

    def render_call(self, renames: list[Rename]) -> tuple[str, str]:
        """What a person reads about the call."""
        return f"rename {_files(renames)}", "\n".join(f"{one.path} -> {one.new_path}" for one in renames)


def _counted(renames: Renames) -> str:
    return _files(renames.moves)


def _files(items: Sequence[object]) -> str:
    return counted(len(items), "path")
