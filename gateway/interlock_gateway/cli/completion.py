"""`interlock completion`."""

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from interlock_gateway.cli.options import examples, group

app = group("Print the completion script for a shell.", "")


class Shell(StrEnum):
    """The shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command(
    epilog=examples(
        "interlock completion bash > ~/.local/share/bash-completion/completions/interlock",
        'interlock completion zsh > "${fpath[1]}/_interlock"',
        "interlock completion fish > ~/.config/fish/completions/interlock.fish",
    )
)
def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print the script that makes a shell complete commands and options of `interlock`."""
    script = get_completion_script(prog_name="interlock", complete_var="_INTERLOCK_COMPLETE", shell=shell.value)
    typer.echo(script)
