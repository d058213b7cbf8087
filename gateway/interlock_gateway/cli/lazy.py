"""The root of the command line: each command's module is imported when that command is asked for, not before."""

import importlib
from dataclasses import dataclass
from typing import Any, cast

import typer
from typer.core import TyperGroup

from interlock_gateway.cli.screen import complain
from interlock_gateway.cli.tls_options import add_tls_options


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command before its module is imported: the module's name in this package, and one line about it."""

    module: str
    summary: str
    section: str


class LazyGroup(TyperGroup):
    """A group whose commands live in modules of their own; `lazy` names them, in the order of the help."""

    lazy: dict[str, LazyCommand] = {}  # noqa: RUF012 -- set once by the subclass that the program makes

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # What a mistyped name is compared with.
        self.commands = cast("dict[str, Any]", dict.fromkeys(self.lazy))
        self._loaded: dict[str, Any] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help."""
        del ctx
        return list(self.lazy)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, its module imported; `None` for a name that is none."""
        del ctx
        if cmd_name not in self.lazy:
            return None
        if cmd_name not in self._loaded:
            module = importlib.import_module(f"interlock_gateway.cli.{self.lazy[cmd_name].module}")
            command = typer.main.get_command(module.app)
            command.name = cmd_name
            add_tls_options(command)
            self._loaded[cmd_name] = command
        return self._loaded[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands in their sections, without importing one of them."""
        del ctx
        for section in dict.fromkeys(command.section for command in self.lazy.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [(name, command.summary) for name, command in self.lazy.items() if command.section == section]
                )

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names that begin so, without importing their modules."""
        from typer._click.shell_completion import CompletionItem  # noqa: PLC0415 -- typer offers no other name

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = ((name, command) for name, command in self.lazy.items() if name.startswith(incomplete))
        return [CompletionItem(name, help=command.summary) for name, command in found]

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error that has a sentence ends it with that sentence and its exit code."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # The SDK is slow to load, and is here already when there is anything to explain.
            from interlock_gateway.cli.failures import explain  # noqa: PLC0415 -- as said above

            failure = explain(error)
            if failure is None:
                raise
            complain(failure.message)
            raise typer.Exit(failure.code) from None
