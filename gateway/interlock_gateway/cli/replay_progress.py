"""How far a replay is, for people at a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from interlock_gateway.policy.replay.running import OnProgress, Progress


@contextmanager
def bar() -> Iterator[OnProgress]:
    """A bar with the rate and the time that is left; gone when it is done."""
    columns = (
        TextColumn("replaying"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[decisions]} decisions, {task.fields[rate]}/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("replay", total=None, decisions=0, rate=0)

        def told(progress: Progress) -> None:
            elapsed = shown.tasks[0].elapsed or 0
            rate = round(progress.tally.decisions / elapsed) if elapsed else 0
            shown.update(
                task,
                total=progress.total_bytes,
                completed=progress.read_bytes,
                decisions=progress.tally.decisions,
                rate=rate,
            )

        yield told
