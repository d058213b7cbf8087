"""The tool `bash`: run a shell command (BOX-6)."""

import asyncio
import codecs
from dataclasses import dataclass, field
from typing import Annotated, Any

from interlock.provider import Arg, Tool, ToolContext, ToolResult, UndoInfo, tool
from interlock.toolbox.binding import (
    Workbench,
    in_words,
    outcome_unknown,
)
from interlock.toolbox.errors import OutcomeUnknownError
from interlock.toolbox.operations import Exit
from interlock.toolbox.outputs import MAX_BYTES, HeadAndTail

DEFAULT_TIMEOUT_S = 120.0
MAX_TIMEOUT_S = 600.0
_PROGRESS_S = 0.1
_MARGIN_S = 30.0
_LATE_S = 0.5

Command = Annotated[str, Arg(description="The command, as one would type it in bash", fact="command", min_length=1)]
Timeout = Annotated[float, Arg(description="Seconds after which it is ended", min=1, max=MAX_TIMEOUT_S)]

IRREVERSIBLE = UndoInfo(
    irreversible=True,
    description="a shell command cannot be undone by a tool",
    manual_guide="Look at what the command changed, and take it back by hand.",
)


def bash_tool(bench: Workbench) -> Tool[..., Any]:
    """The tool, working on a bench."""
    bash = _Bash(bench)
    made = tool(
        name="bash",
        aliases=("shell",),
        title="Run a shell command",
        description=(
            f"Run a bash command, for at most {DEFAULT_TIMEOUT_S:.0f} seconds unless timeout says otherwise. Its "
            "output and errors come back as one text, of which the middle is left out when it is long. It gets no "
            "input, and processes that it leaves in the background are ended with it."
        ),
        read_only=False,
        destructive=True,
        concurrency_safe=False,
        open_world=True,
        permission_class="bash",
        audit_operation="execute",
        knows_workdir=True,
        search_hint="terminal execute run script program command line",
        reversible=False,
        undo_method="manual",
        affected_resources=("anything that a command can reach",),
        truncation="head_tail",
        timeout=MAX_TIMEOUT_S + _MARGIN_S,
        prompt_snippet="bash: run a shell command",
        prompt_guidelines=(
            "Use read, edit, write, glob and grep for files, and bash for what they cannot do, such as tests.",
            "A command run by bash cannot be previewed or undone.",
        ),
    )(bash.run)
    made.render_call(bash.render_call)
    made.render_result(bash.render_result)
    return made


class _Bash:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def run(self, command: Command, ctx: ToolContext, *, timeout: Timeout = DEFAULT_TIMEOUT_S) -> ToolResult:  # noqa: ASYNC109 -- it is the tool's argument
        """Run it."""
        left = ctx.time_left
        limit = timeout if left is None else max(0.1, min(timeout, left - _LATE_S))
        output = HeadAndTail()
        progress = _Progress(ctx)

        def take(block: bytes) -> None:
            output.put(block)
            progress.put(block)

        try:
            with in_words(ctx):
                cwd = self._bench.place(".", ctx)
                try:
                    ended = await self._bench.operations.shell.run(command, cwd=cwd, timeout_s=limit, on_output=take)
                except OutcomeUnknownError as error:
                    return outcome_unknown(error, IRREVERSIBLE, output.text())
        finally:
            progress.flush()
        return _result(ended, output, limit)

    def render_call(self, command: str) -> tuple[str, str]:
        """What a person reads about the call."""
        first, more, _ = command.strip().partition("\n")
        return f"$ {first}{' …' if more else ''}", command

    def render_result(self, result: ToolResult) -> tuple[str, str]:
        """What a person reads about the result."""
        return str((result.details or {}).get("summary", "")), result.text


def _result(ended: Exit, output: HeadAndTail, limit: float) -> ToolResult:
    summary = _how_it_ended(ended, limit)
    failed = ended.timed_out or ended.code != 0
    notes = [f"[{summary}]"] if failed else []
    if ended.left_behind:
        notes.append("[processes that were left in the background were ended]")
    text = output.text()
    if not text and not notes:
        notes.append("[no output]")
    gap = "\n" if text and notes and not text.endswith("\n") else ""
    return ToolResult(
        content=text + gap + "\n".join(notes),
        is_error=failed,
        details={
            "summary": summary,
            "exit_code": ended.code,
            "signal": ended.signal or None,
            "duration_ms": round(ended.duration_s * 1000),
            "timed_out": ended.timed_out,
            "background_ended": ended.left_behind,
            "output_bytes": output.total,
            "output_truncated": output.truncated,
        },
        undo=IRREVERSIBLE,
    )


def _how_it_ended(ended: Exit, limit: float) -> str:
    if ended.timed_out:
        return f"ended after {limit:g} seconds, the time it had"
    if ended.signal:
        return f"ended by {ended.signal} after {ended.duration_s:.1f} seconds"
    return f"exit code {ended.code} after {ended.duration_s:.1f} seconds"


@dataclass(slots=True)
class _Progress:
    """Shows output while it comes, in whole characters and not too often; of a flood, only a part of it."""

    context: ToolContext
    waiting: bytearray = field(default_factory=bytearray)
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="replace")
    )
    shown: int = 0
    soon: asyncio.TimerHandle | None = None

    def put(self, block: bytes) -> None:
        """Take the next piece, from the event loop."""
        room = MAX_BYTES - self.shown - len(self.waiting)
        self.waiting += block[: max(0, room)]
        if self.soon is None:
            self._show()
            self.soon = asyncio.get_running_loop().call_later(_PROGRESS_S, self._later)

    def flush(self) -> None:
        """Show what waits; nothing comes after it."""
        if self.soon is not None:
            self.soon.cancel()
        self._show()

    def _later(self) -> None:
        self.soon = None
        self._show()

    def _show(self) -> None:
        text = self.decoder.decode(bytes(self.waiting))
        self.shown += len(self.waiting)
        self.waiting.clear()
        if text:
            self.context.output(text)
