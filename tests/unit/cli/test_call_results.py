"""How the result of a call is shown, and how it ends the command."""

import pytest
from interlock.results import Artifact, CallResult, CallStatus, Content, ContentKind, UndoInfo
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.result_view import content_text, exit_code, show_result
from interlock_gateway.cli.screen import OutputFormat, Screen


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (CallStatus.COMPLETED, ExitCode.OK),
        (CallStatus.DENIED, ExitCode.REFUSED),
        (CallStatus.FAILED, ExitCode.REFUSED),
        (CallStatus.PREVIEW, ExitCode.WAITING),
        (CallStatus.AWAITING_CHECKPOINT, ExitCode.WAITING),
        (CallStatus.REFLECTION_REQUIRED, ExitCode.WAITING),
        (CallStatus.OUTCOME_UNKNOWN, ExitCode.UNKNOWN),
        (CallStatus.UNKNOWN, ExitCode.UNKNOWN),
    ],
)
def test_each_status_ends_the_command_in_its_own_way(status: CallStatus, code: ExitCode) -> None:
    assert exit_code(CallResult(status=status)) is code


def test_every_status_was_thought_of() -> None:
    assert {exit_code(CallResult(status=status)) for status in CallStatus} <= set(ExitCode)


def test_an_error_of_the_tool_itself_is_not_done() -> None:
    assert exit_code(CallResult(status=CallStatus.COMPLETED, is_error=True)) is ExitCode.REFUSED


def test_what_is_no_text_is_described() -> None:
    image = Content(kind=ContentKind.IMAGE, data=b"1234", media_type="image/png")
    link = Content(kind=ContentKind.RESOURCE, uri="file:///a")
    assert content_text(image) == "[image, image/png, 4 bytes]"
    assert content_text(link) == "[resource file:///a]"
    assert content_text(Content(kind=ContentKind.TEXT)) == ""


def test_people_are_told_how_to_go_on_and_programs_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    preview = CallResult(status=CallStatus.PREVIEW)
    large = CallResult(status=CallStatus.COMPLETED, artifact=Artifact(uri="artifact://s/1", total_bytes=9, lines=2))
    undo = CallResult(status=CallStatus.COMPLETED, undo=UndoInfo(irreversible=True, manual_guide="by hand"))
    for result, hint in ((preview, "resolve apply --session s"), (large, "artifact read artifact://s/1 --session s")):
        show_result(Screen(OutputFormat.TABLE, _fancy=False), result, "s")
        assert hint in capsys.readouterr().err
        show_result(Screen(OutputFormat.JSON), result, "s")
        assert capsys.readouterr().err == ""
    show_result(Screen(OutputFormat.TABLE, _fancy=False), undo, "s")
    assert "undo:    by hand" in capsys.readouterr().out
