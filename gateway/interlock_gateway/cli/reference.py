"""The documentation of the command line, made from the commands themselves, so that it cannot lag behind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.main import COMMANDS, app

_INTRODUCTION = """\
# Command line

<!-- Made from the commands by `python -m interlock_gateway.cli.reference`; do not edit by hand. -->

`interlock` runs the gateway and everything around it. `interlock COMMAND --help` says what stands here.

- `--output json` (`-o json`) is there for every command that shows something: one JSON document, or with `--stream`
  and `--follow` one per line. Its text is ASCII, whatever a tool answered. People get tables: plain ones when the
  output is no terminal.
- What comes from tools and agents cannot act on a terminal: control characters, terminal escapes, bidirectional
  overrides and what is invisible are shown as `<U+001B>`.
- What a command has to say besides its result (hints, errors) goes to standard error.
- Agent commands go to the agents' Unix socket, operator commands to the operators' one, as the configuration has them
  (`INTERLOCK_CONFIG`, `INTERLOCK__STATE__DIR`), unless `--address` says otherwise. Over TCP, other hosts are spoken to
  in TLS, and this one too when certificates are given; `INTERLOCK_TOKEN` or `--cert-file` says who calls.
"""
_VARIABLES = (
    ("INTERLOCK_CONFIG", "The configuration file, where a command takes `--config`, and to find the sockets."),
    ("INTERLOCK__SECTION__KEY", "Any setting; see [configuration.md](configuration.md)."),
    ("INTERLOCK_VARIABLES", "`secrets`: of the settings, only secrets may be variables; `all` if it is not set."),
    ("INTERLOCK_ADDRESS", "Where agent commands reach the gateway."),
    ("INTERLOCK_OPERATOR_ADDRESS", "Where operator commands reach the gateway."),
    ("INTERLOCK_TOKEN", "The token that commands send."),
    ("INTERLOCK_CA_FILE", "Over TCP: the authorities that the gateway's certificate is checked against."),
    ("INTERLOCK_CERT_FILE", "Over TCP: the certificate that proves who calls."),
    ("INTERLOCK_KEY_FILE", "The key of that certificate, unless the same file holds it."),
    ("INTERLOCK_SERVER_NAME", "Over TCP: whom the gateway's certificate must be for."),
    ("INTERLOCK_SESSION", "The session of agent commands."),
    ("INTERLOCK_TOOLBOX_TOKEN", "The token that callers of the toolbox have to send."),
)


@dataclass(frozen=True, slots=True)
class Documented:
    """A command with its words: `interlock policy eval`."""

    words: tuple[str, ...]
    command: Any

    @property
    def runs(self) -> bool:
        """Whether it does something without another word."""
        return not hasattr(self.command, "commands") or bool(self.command.invoke_without_command)


def every_command() -> Iterator[Documented]:
    """Every command and group, in the order of the help."""
    root = typer.main.get_command(app)
    context: Any = None
    for name in COMMANDS:
        command: Any = getattr(root, "get_command")(context, name)  # noqa: B009 -- typer's own type has no such method
        yield Documented(("interlock", name), command)
        for below, inner in getattr(command, "commands", {}).items():
            yield Documented(("interlock", name, below), inner)


def reference_markdown() -> str:
    """The documentation of every command, as it is committed."""
    return "\n".join((_INTRODUCTION, *_tables(), *(line for one in every_command() for line in _section(one))))


def _tables() -> Iterator[str]:
    yield "## Exit codes"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    yield from (f"| {code.value} | {code.meaning} |" for code in ExitCode)
    yield ""
    yield "## Environment"
    yield ""
    yield "| variable | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in _VARIABLES)
    yield ""


def _section(one: Documented) -> Iterator[str]:
    level = "#" * len(one.words)
    yield f"{level} {' '.join(one.words)}"
    yield ""
    yield str(one.command.help).strip()
    yield ""
    if rows := [_row(parameter) for parameter in one.command.params if parameter.name != "help"]:
        yield "| option | meaning |"
        yield "|---|---|"
        yield from rows
        yield ""
    yield "```console"
    yield from (f"$ {line.strip()}" for line in example_lines(one.command))
    yield "```"
    yield ""


def example_lines(command: Any) -> list[str]:
    """The examples at the end of a command's help."""
    lines = str(command.epilog or "").splitlines()
    return [line.strip() for line in lines if line.startswith("  ")]


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-"))
    names = names or f"`{parameter.metavar or parameter.name.upper()}`"
    meaning = str(parameter.help or "")
    facts = [*_choices(parameter), *_required(parameter), *_variable(parameter)]
    return f"| {_cell(names)} | {_cell(' '.join((meaning, *facts)))} |"


def _choices(parameter: Any) -> list[str]:
    choices = [f"`{getattr(one, 'value', one)}`" for one in parameter.type_descriptor.choices or ()]
    return [f"One of {', '.join(choices)}."] if choices else []


def _required(parameter: Any) -> list[str]:
    if parameter.required:
        return ["Required."]
    default = parameter.default
    if default in (None, "", False, ()) or callable(default):
        return []
    return [f"Default: `{getattr(default, 'value', default)}`."]


def _variable(parameter: Any) -> list[str]:
    return [f"In the environment: `{parameter.envvar}`."] if parameter.envvar else []


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":  # pragma: no cover - the freshness test checks what this writes
    from pathlib import Path

    (Path(__file__).resolve().parents[3] / "docs" / "cli.md").write_text(reference_markdown(), encoding="utf-8")
