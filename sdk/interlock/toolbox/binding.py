"""What every tool of the toolbox needs: where it works, how errors become words, how people see a call."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from interlock.provider import Arg, StateChangedError, ToolContext, ToolError, ToolResult, UndoInfo
from interlock.toolbox.errors import (
    AlreadyThereError,
    ChangedError,
    MissingError,
    OperationError,
    TooLargeError,
    WrongKindError,
)
from interlock.toolbox.operations import Operations, Place
from interlock.toolbox.places import locate, shown
from interlock.toolbox.renaming import Renames
from interlock.toolbox.undo import Record, Undo

FilePath: TypeAlias = Annotated[
    str, Arg(description="The file's path, relative to the working directory or absolute", fact="path", min_length=1)
]
DirectoryPath: TypeAlias = Annotated[
    str, Arg(description="The directory to look in; the working directory when left out", fact="path", min_length=1)
]

RESTORE = "restore"
_OTHER_STATES = (ChangedError, MissingError, AlreadyThereError, WrongKindError, TooLargeError)


@dataclass(frozen=True, slots=True)
class Workbench:
    """The operations that the tools share, and the records that undo their effects."""

    operations: Operations
    undo: Undo

    def place(self, path: str, context: ToolContext) -> Place:
        """Where a path leads, seen from the call's working directory."""
        self.undo.renaming.settle()
        return locate(path, workdir=context.workdir, roots=self.operations.files.roots)

    def shown(self, place: Place, context: ToolContext) -> str:
        """The path that the model may use for a place."""
        return shown(place, workdir=context.workdir, roots=self.operations.files.roots)


@contextmanager
def in_words(context: ToolContext) -> Iterator[None]:
    """Turn errors of operations into the tool's words for the model.

    While a preview is applied, finding something other than was previewed means that the state has changed (PREV-5).
    """
    try:
        yield
    except _OTHER_STATES as error:
        if context.state_token is not None:
            raise StateChangedError(f"{error}: it is not what was previewed, and nothing was done") from error
        if isinstance(error, ChangedError):
            raise ToolError(f"{error} while this was done; nothing was done. Look at it again first") from error
        raise ToolError(str(error)) from error
    except OperationError as error:
        raise ToolError(str(error)) from error


def check_previewed(token: str, place: Place, context: ToolContext) -> None:
    """Raise ChangedError unless the state is the one that was previewed, if there was a preview."""
    if context.state_token is not None and context.state_token != token:
        raise ChangedError(str(place))


def undo_info(record: Record | Renames, description: str) -> UndoInfo:
    """What the journal keeps: which tool restores, from which record, and of which path."""
    return UndoInfo(
        tool=RESTORE,
        input={"path": record.place.path, "record": record.record_id},
        description=description,
    )


def outcome_unknown(error: OperationError, undo: UndoInfo, output: str = "") -> ToolResult:
    """What is answered when nobody knows whether it was done: an error, with the undo that fits both cases."""
    said = f"{output.rstrip()}\n" if output.strip() else ""
    return ToolResult(
        content=f"{said}[{error}]", is_error=True, details={"summary": str(error), "outcome_unknown": True}, undo=undo
    )


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number and its noun.

    >>> counted(1, "line"), counted(1200, "byte"), counted(2, "entry", "entries")
    ('1 line', '1,200 bytes', '2 entries')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


def result_rendering(result: ToolResult) -> tuple[str, str]:
    """How people see a result unless a tool knows better: its summary or first line, and all of its text."""
    summary = str((result.details or {}).get("summary", "")) or result.text.partition("\n")[0]
    return (f"failed: {summary}" if result.is_error else summary), result.text
