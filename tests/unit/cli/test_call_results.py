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


ABOUT = {"label": "replace a by b", "sourceToolName": "replace_value", "reason": "it is right"}


@pytest.mark.req("PREV-9")
@pytest.mark.parametrize(
    ("status", "action", "extra", "word"),
    [
        (CallStatus.COMPLETED, "apply", None, "Accept"),
        (CallStatus.COMPLETED, "discard", {"outcome": ["no word"]}, "Discard"),
        (CallStatus.COMPLETED, "apply", {"outcome": "not_applied"}, "Discard"),
        (CallStatus.COMPLETED, "discard", {"outcome": "applied"}, "Accept"),
        (CallStatus.FAILED, "apply", None, "Failed"),
        (CallStatus.DENIED, "apply", None, "Failed"),
        (CallStatus.PREVIEW, "apply", None, "Failed"),
        (CallStatus.AWAITING_CHECKPOINT, "apply", None, ""),
        (CallStatus.OUTCOME_UNKNOWN, "apply", None, ""),
    ],
)
def test_a_resolution_is_shown_to_people_as_one_block(
    capsys: pytest.CaptureFixture[str], status: CallStatus, action: str, extra: object, word: str
) -> None:
    result = CallResult(status=status, details={"action": action, "extra": extra, **ABOUT})

    show_result(Screen(OutputFormat.TABLE, _fancy=False), result, "s", resolving=True)

    block = f"{word}:\nlabel:  replace a by b\ntool:   replace_value\nreason: it is right\n"
    shown = capsys.readouterr().out
    assert shown.startswith(block) if word else "it is right" not in shown


def test_what_a_tool_itself_says_in_its_details_is_no_resolution(capsys: pytest.CaptureFixture[str]) -> None:
    result = CallResult(status=CallStatus.COMPLETED, details={"action": "apply", **ABOUT})
    show_result(Screen(OutputFormat.TABLE, _fancy=False), result, "s")
    assert "Accept" not in capsys.readouterr().out
