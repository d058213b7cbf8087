"""`interlock demo`."""

import typer

from interlock_gateway.cli.options import examples, group
from interlock_gateway.demo.__main__ import main as play

app = group("Show a gateway in front of an agent.", "")


@app.command(epilog=examples("interlock demo"))
def demo() -> None:
    """Start a gateway and a toolbox in a directory of their own, and play an agent that works through them.

    Shows what is let through, previewed, refused and undone, and why. Nothing outside that directory is touched.
    """
    raise typer.Exit(play())
