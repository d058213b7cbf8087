"""`interlock batch`: several calls of one session, from a file of JSON lines."""

import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from interlock import Call, CallResult
from interlock.calls import BatchOutcome

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.jsonable import jsonable
from interlock_gateway.cli.options import AgentAddress, Output, Session, Timeout, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.result_view import exit_code
from interlock_gateway.cli.screen import OutputFormat, Screen
from interlock_gateway.core.visible import visible_line

app = group("Call several tools in one request.", "")
_SHORT = 100
_FIELDS = frozenset(field.name for field in fields(Call))


@app.command(
    epilog=examples(
        "interlock batch calls.jsonl --stop-on-error",
        "interlock batch - --parallel 4 < calls.jsonl",
    )
)
def batch(
    file: Annotated[str, typer.Argument(metavar="FILE", help="One call on each line, as JSON; `-` is standard input.")],
    *,
    session: Session = "",
    stop_on_error: Annotated[
        bool, typer.Option("--stop-on-error", help="Begin no further call once one did not complete without an error.")
    ] = False,
    parallel: Annotated[
        int, typer.Option("--parallel", min=0, help="How many concurrency-safe calls run side by side; 0 means 10.")
    ] = 0,
    timeout: Timeout = 120.0,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take several calls through the gateway, and show what becomes of each as it ends.

    A line is an object with `tool`, `input`, and what else a call may have: `call_id`, `workdir`, `deliverable`,
    `checkpoint_mode`, `intent`, `labels`. Neighbours that are safe to run side by side do; every other call is alone,
    in the order of the lines. The exit code is that of the worst outcome.
    """
    calls = list(_calls(_text_of(file)))
    screen = Screen(output)
    worst = ExitCode.OK
    with agent_gateway(address, timeout) as gateway:
        used = gateway.session(session)
        for index, outcome in used.stream_batch(calls, stop_on_error=stop_on_error, max_parallel=parallel):
            document = {"session_id": used.session_id, "index": index, **_document(outcome)}
            screen.line(document, visible_line(f"{index + 1}  {calls[index].tool}  {_words(outcome)}"))
            worst = max(worst, exit_code(outcome) if isinstance(outcome, CallResult) else ExitCode.REFUSED)
        screen.hint(f"\nsession {used.session_id}")
    raise typer.Exit(worst)


def _text_of(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from None


def _calls(text: str) -> Iterator[Call]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            written = json.loads(line)
        except ValueError as error:
            raise typer.BadParameter(f"line {number} is not JSON: {error}") from None
        if not isinstance(written, dict) or not isinstance(written.get("tool"), str):
            raise typer.BadParameter(f"line {number} is not an object with a tool")
        if unknown := sorted(written.keys() - _FIELDS):
            raise typer.BadParameter(f"line {number}: a call has no {', '.join(unknown)}")
        yield Call(**written)


def _document(outcome: BatchOutcome) -> dict[str, Any]:
    if isinstance(outcome, CallResult):
        return {"result": jsonable(outcome), "error": None}
    error = {"code": outcome.code.name, "reason": outcome.reason, "message": str(outcome)}
    return {"result": None, "error": error}


def _words(outcome: BatchOutcome) -> str:
    if not isinstance(outcome, CallResult):
        return f"not done: {outcome}"
    first = outcome.text.strip().partition("\n")[0][:_SHORT]
    return f"{outcome.status}{', an error' if outcome.is_error else ''}  {first}".rstrip()
