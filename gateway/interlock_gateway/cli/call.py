"""`interlock call`."""

import json
from typing import Annotated, Any

import typer
from interlock import CallResult, SyncSession
from interlock.calls import CallEvent, CallOptions, CheckpointMode, Deliverable, OutputChunk, Progress, Waiting

from interlock_gateway.cli.call_input import read_input, read_object
from interlock_gateway.cli.jsonable import jsonable
from interlock_gateway.cli.options import AgentAddress, Output, Session, Timeout, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.result_view import exit_code, show_result
from interlock_gateway.cli.screen import OutputFormat, Screen
from interlock_gateway.core.visible import visible, visible_line

app = group("Call a tool.", "")
CONFIDENCE_FIELD = "_flyto_confidence"


@app.command(
    epilog=examples(
        "interlock call read path=README.md",
        'interlock call edit \'{"path": "a.txt", "old_string": "x", "new_string": "y"}\' --confidence 90',
        "interlock call bash command='make test' timeout:=60 --stream",
    )
)
def call(
    tool: Annotated[str, typer.Argument(help="The tool's name or alias.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JSON|key=value]...",
            help="The input: one JSON object, `-` for standard input, or key=text, key:=JSON, key=@FILE.",
        ),
    ] = None,
    *,
    session: Session = "",
    stream: Annotated[bool, typer.Option("--stream", help="Show progress and output as they come.")] = False,
    confidence: Annotated[
        float | None, typer.Option(help=f"How sure you are, 0 to 100; sent as {CONFIDENCE_FIELD}.")
    ] = None,
    intent: Annotated[str, typer.Option(help="What the call is for, in your words.")] = "",
    workdir: Annotated[str, typer.Option(help="The directory to work in, for tools that know directories.")] = "",
    call_id: Annotated[str, typer.Option(help="The call's id; the same id and input never run twice.")] = "",
    deliverable: Annotated[str, typer.Option(help="The answer to a reflection: JSON, or @FILE.")] = "",
    detach: Annotated[bool, typer.Option("--detach", help="Answer at once when a person has to decide.")] = False,
    timeout: Timeout = 120.0,
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take one call through the gateway, and show what became of it.

    The exit code is 0 only when the tool ran and answered without an error; 4 means that nothing ran yet.
    """
    asked = _with_confidence(read_input(words or []), confidence)
    options: CallOptions = {
        "call_id": call_id,
        "workdir": workdir,
        "intent": intent,
        "checkpoint_mode": CheckpointMode.DETACH if detach else CheckpointMode.WAIT,
    }
    if deliverable:
        options["deliverable"] = _deliverable(deliverable)
    screen = Screen(output)
    with agent_gateway(address, timeout) as gateway:
        used = gateway.session(session)
        if stream:
            result, streamed = _follow(screen, used, tool, asked, options)
        else:
            result, streamed = used.call(tool, asked, **options), False
        if screen.is_json and stream:
            screen.line({"event": "result", "session_id": used.session_id, **jsonable(result)}, "")
        else:
            show_result(screen, result, used.session_id, with_content=not streamed, resolving=tool == "resolve")
    raise typer.Exit(exit_code(result))


def _with_confidence(asked: dict[str, Any] | str, confidence: float | None) -> dict[str, Any] | str:
    if confidence is None:
        return asked
    stated = int(confidence) if confidence.is_integer() else confidence
    if isinstance(asked, dict):
        return {**asked, CONFIDENCE_FIELD: stated}
    try:
        return {**json.loads(asked), CONFIDENCE_FIELD: stated}
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(f"--confidence needs a JSON object to be put into: {error}") from None


def _deliverable(text: str) -> Deliverable:
    try:
        return Deliverable(**read_object(text, "the deliverable"))
    except TypeError as error:
        raise typer.BadParameter(f"the deliverable is not one: {error}") from None


def _follow(
    screen: Screen, session: SyncSession, tool: str, asked: dict[str, Any] | str, options: CallOptions
) -> tuple[CallResult, bool]:
    """The result of the call, its events shown as they come; and whether output was among them."""
    streamed = False
    for event in session.stream(tool, asked, **options):
        if isinstance(event, CallResult):
            return event, streamed
        if isinstance(event, OutputChunk) and not screen.is_json:
            streamed = True
            typer.echo(visible(event.text), nl=False)
        elif screen.is_json:
            screen.line({"event": type(event).__name__.lower(), **jsonable(event)}, "")
        else:
            screen.hint(_words(event))
    raise AssertionError("the last event of a stream is the result")


def _words(event: CallEvent) -> str:
    if isinstance(event, Progress):
        share = f"{event.done:g} of {event.total:g}" if event.total else f"{event.done:g}"
        return visible_line(f"... {share} {event.message}".rstrip())
    if isinstance(event, Waiting):
        return f"... waiting: {event.reason}" + (f", {event.calls_ahead} calls ahead" if event.calls_ahead else "")
    return ""
