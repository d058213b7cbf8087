"""What an approver at a terminal is asked before an answer is sent: whether it is meant, and what the new input is."""

import os
import subprocess
import tempfile
from difflib import unified_diff
from pathlib import Path

import typer
from interlock.v1 import checkpoint_pb2

from interlock_gateway.cli.checkpoint_view import pretty
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.core.visible import visible_json

_EDITOR = "vi"


def agree(question: str, *, yes: bool) -> None:
    """Raise `CommandError` unless the question is answered with yes, here or by `--yes`."""
    if yes:
        return
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise CommandError("nothing was answered; --yes answers without a question", ExitCode.REFUSED)


def given_input(text: str) -> bytes:
    """An input given as JSON, or as `@FILE`; its bytes are sent as they are. Raises `typer.BadParameter`."""
    if not text.startswith("@"):
        return text.encode()
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{text[1:]} cannot be read: {error.strerror}") from None


def edited_input(one: checkpoint_pb2.Checkpoint) -> bytes:
    """The call's input after an approver has changed it in `$VISUAL` or `$EDITOR`.

    What would not be seen is escaped in it. Raises `CommandError` when it was left as it was, or no editor runs.
    """
    before = one.input.decode()
    laid_out = pretty_escaped(one)
    with tempfile.TemporaryDirectory(prefix="interlock-") as directory:
        file = Path(directory) / "input.json"
        file.write_text(laid_out, encoding="utf-8")
        _edit(file)
        after = file.read_text(encoding="utf-8")
    if after.strip() in (laid_out.strip(), before.strip()):
        raise CommandError("the input was left as it is: nothing was answered", ExitCode.REFUSED)
    return after.encode()


def pretty_escaped(one: checkpoint_pb2.Checkpoint) -> str:
    """The input, a member on each line, with what would not be seen escaped."""
    return visible_json(pretty(one.input)) + "\n"


def difference(one: checkpoint_pb2.Checkpoint, edited: bytes) -> str:
    """How an edited input differs from what was asked."""
    old, new = pretty(one.input).splitlines(), pretty(edited).splitlines()
    return "\n".join(unified_diff(old, new, "asked", "edited", lineterm=""))


def _edit(file: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    try:
        # As every program that starts an editor does: the variable may hold arguments.
        ended = subprocess.run(["/bin/sh", "-c", f'{editor} "$1"', "sh", str(file)], check=False)  # noqa: S603 -- theirs
    except OSError as error:
        raise CommandError(f"the editor cannot be started: {error.strerror}") from None
    if ended.returncode:
        raise CommandError(f"the editor ended with {ended.returncode}: nothing was answered")
