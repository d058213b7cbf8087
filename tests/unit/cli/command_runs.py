"""Running `interlock` inside the test's process, with an environment of its own."""

import json
import os
from pathlib import Path
from typing import Any

from interlock_gateway.cli.main import app
from typer.testing import CliRunner, Result

_OURS = ("INTERLOCK_", "INTERLOCK__")


def run(*arguments: str | Path, env: dict[str, str] | None = None, typed: str | None = None) -> Result:
    """One command. Variables of ours that the tests' own process may have are not seen."""
    cleared: dict[str, str | None] = {name: None for name in os.environ if name.startswith(_OURS)}
    return CliRunner().invoke(app, [str(one) for one in arguments], env={**cleared, **(env or {})}, input=typed)


def run_json(*arguments: str | Path, env: dict[str, str] | None = None, code: int = 0) -> Any:
    """What a command shows to programs; it has to end with `code`."""
    ended = run(*arguments, "--output", "json", env=env)
    assert ended.exit_code == code, ended.output
    return json.loads(ended.stdout)
