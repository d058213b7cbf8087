"""How the commands of `interlock policy` end when there is nothing that they could judge: with 2, never with 1.

1 says that a call is denied, that something would change, or that a check found something. Policies that do not load, a
file that is missing, a profile that there is not, and a gateway that does not take the request are none of these, and a
check that waits for 1 must not pass. A gateway that cannot be reached is 3, as everywhere.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from interlock import errors as sdk

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError, explain
from interlock_gateway.cli.screen import OutputFormat, Screen
from interlock_gateway.errors import ConfigError
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.opa.program import OpaProgramError
from interlock_gateway.policy.replay.crew import ReplayError
from interlock_gateway.policy.settings import PolicySourceError

_UNJUDGED = (
    PolicySourceError,
    PolicyUnavailableError,
    InspectionError,
    ReplayError,
    OpaProgramError,
    ConfigError,
    CommandError,
)
# Of a bundle that was read and is refused, as a gateway with this key would, the answer is 1.
_JUDGED = frozenset(
    {
        "bundle_unsigned",
        "bundle_key_id_missing",
        "bundle_unknown_key",
        "bundle_signature",
        "bundle_scope",
        "bundle_file_not_signed",
        "bundle_file_missing",
        "bundle_file_changed",
        "bundle_without_order",
        "bundle_older",
    }
)
Command = TypeVar("Command", bound=Callable[..., None])


def judging(command: Command) -> Command:
    """The command, ending with 2 when there is nothing to judge; to programs it shows the problems as JSON."""

    @functools.wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (*_UNJUDGED, sdk.RequestError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            screen = Screen(options.get("output", OutputFormat.TABLE))
            if screen.is_json:
                screen.show({"ok": False, "problems": problems_of(error)})
            raise CommandError(_words(error), _code(error)) from error

    return guarded  # type: ignore[return-value]  # it takes and gives what the command does


def problems_of(error: Exception) -> list[Problem]:
    """What is wrong, with its file and line as far as they are known."""
    if isinstance(error, PolicySourceError):
        code = str(getattr(error, "fault", "unreadable"))
        return [Problem(*one.file_and_line, code, one.problem) for one in error.each]
    return [_problem_of(error)]


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, OSError):
        return Problem(str(error.filename or ""), 0, "unreadable", str(error.strerror or error))
    if isinstance(error, sdk.RequestError) or _code(error) is ExitCode.UNREACHABLE:
        is_away = _code(error) is not ExitCode.USAGE
        return Problem("", 0, "gateway_unreachable" if is_away else "request_refused", _words(error))
    code = "not_checkable" if isinstance(error, InspectionError) else "not_loadable"
    return Problem("", 0, "usage" if isinstance(error, ConfigError | CommandError) else code, str(error))


def _code(error: Exception) -> ExitCode:
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, sdk.RequestError):
        failure = explain(error)
        # The gateway has not judged what it did not take.
        return ExitCode.USAGE if failure is None or failure.code is ExitCode.REFUSED else failure.code
    return ExitCode.REFUSED if str(getattr(error, "fault", "")) in _JUDGED else ExitCode.USAGE


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
    failure = explain(error)
    return failure.message if failure is not None and isinstance(error, sdk.RequestError) else str(error)
