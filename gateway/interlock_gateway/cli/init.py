"""`interlock init`."""

import importlib.resources
import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import Output, examples, group
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Text
from interlock_gateway.identity.authenticate import new_token

app = group("Write a configuration and policies to start from.", "")
CONFIG_NAME = "interlock.yaml"
WORKSPACE = "workspace"
FILES = (
    CONFIG_NAME,
    "policies/data.yaml",
    "policies/custom/protected_branch.rego",
    "policies/custom/protected_branch_test.rego",
    f"{WORKSPACE}/README.md",
)
PRINCIPAL = "first-agent"
_ABOUT_IT = (
    "The token is shown this once: give it to the agent, in INTERLOCK_TOKEN.\n"
    "On this machine agents may use the Unix socket instead, which needs none."
)
PRIVATE, DIRECTORY_MODE = 0o600, 0o755


@app.command(epilog=examples("interlock init", "interlock init /etc/interlock"))
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write; made when it is not there.")] = Path(),
    *,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Write interlock.yaml and a directory of policies to edit, with an example rule and its test.

    Makes a token for a first agent and shows it this once; the file holds its hash. Nothing is ever overwritten.
    """
    root = directory.absolute()
    taken = [root / name for name in FILES if (root / name).exists()]
    if taken:
        raise CommandError("\n".join(("nothing was written, because it would overwrite:", *map(str, taken))))
    token, digest = new_token()
    for name in FILES:
        _write(root / name, _filled(name, digest, root))
    written = [root / name for name in FILES]
    Screen(output).show(
        {"token": token, "principal": PRINCIPAL, "config": root / CONFIG_NAME, "files": written},
        Fields([("wrote", "\n".join(str(directory / name) for name in FILES)), (f"token of {PRINCIPAL}", token)]),
        Text(_ABOUT_IT),
        Text(_next_steps(directory), title="next"),
    )


def _filled(name: str, digest: str, root: Path) -> str:
    template = importlib.resources.files("interlock_gateway.cli").joinpath("starter", *name.split("/"))
    # A JSON string is a YAML string, whatever the path holds.
    return (
        template.read_text(encoding="utf-8")
        .replace("@SHA256@", digest)
        .replace("@ROOT@", json.dumps(str(root / WORKSPACE)))
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    except FileExistsError:
        raise CommandError(f"{path} has just been made by somebody else; it is left as it is") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _next_steps(directory: Path) -> str:
    config, workspace = shlex.quote(str(directory / CONFIG_NAME)), shlex.quote(str(directory / WORKSPACE))
    return "\n".join(
        (
            f"  interlock check --config {config} --offline",
            f"  interlock toolbox --root {workspace} &",
            f"  interlock serve --config {config} &",
            "  interlock status --wait 10",
            "  interlock tools",
            "  interlock call read path=README.md",
        )
    )
