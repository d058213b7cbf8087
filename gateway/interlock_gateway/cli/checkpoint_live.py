"""`interlock checkpoints watch` at a terminal: a live view, and keys to answer with."""

import os
import queue
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import typer
from interlock import InterlockError
from interlock.admin import SyncApprovals
from interlock.v1 import approval_service_pb2, checkpoint_pb2
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text as RichText

from interlock_gateway.cli import checkpoint_view as view
from interlock_gateway.cli.checkpoint_answers import agree, difference, edited_input
from interlock_gateway.cli.checkpoint_board import Board
from interlock_gateway.cli.failures import CommandError, explain
from interlock_gateway.cli.rich_screen import render, renderables
from interlock_gateway.cli.screen import Table
from interlock_gateway.core.visible import visible

REFRESH_S = 0.5
KEYS = "a approve   d deny   e edit   r respond   j/k next/previous   q quit"
_NOTHING = "Nothing waits. While this is open, you can be asked."
_GONE = "This one is not open any more; j or k shows the next."
Told: TypeAlias = approval_service_pb2.WatchCheckpointsResponse
Answer: TypeAlias = Callable[[SyncApprovals, checkpoint_pb2.Checkpoint], checkpoint_pb2.Checkpoint]


def live(approvals: SyncApprovals, groups: Iterable[str]) -> None:
    """Show what waits until `q` or Ctrl-C. Raises what ends the watch: a `RequestError` of the SDK."""
    news: queue.SimpleQueue[Told | Exception] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(approvals, tuple(groups), news), daemon=True).start()
    board, console = Board(), Console(highlight=False, markup=False, emoji=False)
    with suppress(KeyboardInterrupt):
        while (key := _watch(board, news, console)) != "q":
            _answer(approvals, board, _ANSWERS[key], console)


def _listen(approvals: SyncApprovals, groups: tuple[str, ...], news: "queue.SimpleQueue[Told | Exception]") -> None:
    try:
        for told in approvals.watch(groups=groups):
            news.put(told)
    except InterlockError as error:
        news.put(error)


def _watch(board: Board, news: "queue.SimpleQueue[Told | Exception]", console: Console) -> str:
    """Show the board until a key asks for something that the terminal is needed for."""
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as shown:
        while True:
            _take_in(board, news)
            shown.update(_picture(board, time.time(), console), refresh=True)
            key = pressed(REFRESH_S)
            if key == "q" or (key in _ANSWERS and board.one is not None):
                return key
            if key in _STEPS:
                board.move(_STEPS[key])


def _take_in(board: Board, news: "queue.SimpleQueue[Told | Exception]") -> None:
    while not news.empty():
        told = news.get()
        if isinstance(told, Exception):
            raise told
        board.take(told, time.time())


def _picture(board: Board, now: float, console: Console) -> Group:
    one, waiting = board.one, board.ordered()
    rows = [("▶" if item is one else " ", *view.row(item, now)) for item in waiting]
    empty = _NOTHING if board.watching else "Connecting."
    parts: list[Any] = [*renderables([Table(("", *view.COLUMNS), rows, empty=empty)])]
    if one is not None:
        parts += renderables(view.blocks(one, now))
    elif waiting:
        parts.append(RichText(_GONE))
    below = [RichText(""), *(RichText(line, style="dim") for line in board.log), RichText(KEYS, style="reverse")]
    # What does not fit is cut at its end, and never the keys.
    height = max(1, console.size.height - len(below) - 1)
    lines = console.render_lines(Group(*parts), pad=False)
    cut = [RichText("".join(piece.text for piece in line)) for line in lines[:height]]
    if len(lines) > height:
        below.insert(0, RichText(f"... {len(lines) - height} more lines: interlock checkpoints show", style="bold"))
    return Group(*cut, *below)


def _answer(approvals: SyncApprovals, board: Board, answer: Answer, console: Console) -> None:
    one = board.one
    if one is None:
        return
    try:
        board.answered(answer(approvals, one))
    except typer.Abort:
        board.say("nothing was answered")
    except (CommandError, InterlockError) as error:
        failure = explain(error)
        board.say(failure.message if failure is not None else str(error))
    console.clear()


def _approve(approvals: SyncApprovals, one: checkpoint_pb2.Checkpoint) -> checkpoint_pb2.Checkpoint:
    # In full: what is approved may be longer than the screen.
    render(view.blocks(one, time.time()))
    agree(f"Let {one.tool} run?", yes=False)
    return approvals.approve(one.checkpoint_id, call_digest=one.call_digest)


def _deny(approvals: SyncApprovals, one: checkpoint_pb2.Checkpoint) -> checkpoint_pb2.Checkpoint:
    return approvals.deny(one.checkpoint_id, typer.prompt("Why not (the model is told)", err=True))


def _edit(approvals: SyncApprovals, one: checkpoint_pb2.Checkpoint) -> checkpoint_pb2.Checkpoint:
    edited = edited_input(one)
    typer.echo(visible(difference(one, edited)), err=True)
    agree("Let it run like this?", yes=False)
    return approvals.edit(one.checkpoint_id, edited, call_digest=one.call_digest)


def _respond(approvals: SyncApprovals, one: checkpoint_pb2.Checkpoint) -> checkpoint_pb2.Checkpoint:
    return approvals.respond(one.checkpoint_id, typer.prompt("What the model gets in place of a result", err=True))


_ANSWERS: dict[str, Answer] = {"a": _approve, "d": _deny, "e": _edit, "r": _respond}
_STEPS = {"j": 1, "k": -1}


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Keys as they are pressed: a function that waits for one so many seconds, and gives nothing when there is none."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([terminal], [], [], seconds)
        return os.read(terminal, 1).decode(errors="replace") if ready else ""

    try:
        tty.setcbreak(terminal)
        # What was typed before the call was on the screen was not typed about it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
