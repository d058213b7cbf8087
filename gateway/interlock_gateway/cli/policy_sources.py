"""Which policies a command looks at: those of the configuration, or others named on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.config import Config

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="A directory of your own rules and settings, in place of the configured ones."),
]


def chosen_overlays(given: list[Path] | None, config: Config) -> tuple[Path, ...]:
    """The overlays that were named, else the configured ones."""
    return tuple(given) if given else config.policy.overlays
