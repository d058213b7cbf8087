"""What every adapter promises (SDK-2): the real framework, a model that says what it is told, a real gateway."""

import asyncio
import re
from base64 import b64encode

import agents
import pytest
from adapter_bench import PICTURE, Played, Player
from asked_people import person
from interlock import errors
from interlock.adapters import AdapterOptions
from interlock.adapters._answers import DENIED
from interlock.results import CallResult, CallStatus
from players import PLAYERS, Seen, Turns, anthropic_threads, openai_agents_sdk, pydantic_ai_agent
from waiting import eventually

pytestmark = [pytest.mark.req("SDK-2"), pytest.mark.asyncio(loop_scope="module")]
REMINDER = "This is a preview. Call the `resolve` tool to apply or discard these changes."
ON_THE_LOOP = [player for player in PLAYERS if not player.__name__.endswith("threads")]
# What is the bridge's is tried with one on the loop and one in threads.
ONE_OF_EACH = [pydantic_ai_agent, anthropic_threads]
PATIENCE_S = 2.0
THOUGHT = {
    "hidden_assumptions": ["nobody else sets it"],
    "failure_scenarios": ["it is lost"],
    "verdict": "proceed",
    "verdict_reason": "it can be set back",
}


async def test_a_model_sees_the_gateways_tools_as_they_are_listed(at: Played, player: Player) -> None:
    (seen,) = await player(at.session, [], None)

    listed = await at.session.tools()
    expected = {tool.name: (tool.description, tool.input_schema) for tool in listed.tools}
    assert expected.pop("files.read/one") == seen.tools.pop("files_read_one")
    assert seen.tools == expected
    assert "resolve" not in seen.tools
    assert "[Safety] requires _flyto_confidence (0-100) in input, min=70" in seen.tools["careful"][0]
    assert seen.prompt.endswith(listed.prompt)
    assert seen.required == ""


async def test_a_call_runs_through_the_session_and_the_model_reads_its_result(at: Played, player: Player) -> None:
    _, seen = await player(at.session, [[("echo", {"text": "ü"}), ("files_read_one", {"path": "a"})]], None)

    assert [one.text for one in seen.results] == ["ü", "content of a"]
    assert sorted(at.ran) == [("echo", "ü"), ("files.read/one", "a")]
    assert not any(one.is_error for one in seen.results)


async def test_arguments_may_be_called_whatever_they_are_called(at: Played, player: Player) -> None:
    named = {name: name for name in ("config", "run_manager", "callbacks", "tool_call_id", "ctx")}
    _, seen = await player(at.session, [[("oddly_called", named)]], None)

    assert seen.results[0].text == "config run_manager callbacks tool_call_id ctx"


async def test_a_denial_is_a_result_that_says_why(at: Played, player: Player) -> None:
    calls: Turns = [[("careful", {"text": "x"})], [("careful", {"text": "x", "_flyto_confidence": 90})]]
    _, denied, passed = await player(at.session, calls, None)

    assert denied.results[0].text == f"requires _flyto_confidence (0-100) in input, min=70\n{DENIED}"
    assert denied.results[0].is_error in (True, None)
    assert passed.results[0].text == "x"
    assert at.ran == [("careful", "x")]


async def test_a_preview_is_shown_and_resolved_by_the_model(at: Played, player: Player) -> None:
    calls = [[("replace_value", {"value": "b"})], [("resolve", {"action": "apply", "reason": "as asked"})]]
    first, shown, after = await player(at.session, calls, None)

    assert "- first\n+ b" in shown.results[0].text
    assert REMINDER in shown.results[0].text
    assert shown.results[0].is_error in (False, None)
    assert (first.required, shown.required, after.required) == ("", "resolve", "")
    assert "resolve" in shown.tools
    assert "resolve" not in after.tools
    assert after.results[0].text == "now b"
    assert at.ran == [("replace_value", "b")]


async def test_a_call_waits_for_a_person(at: Played, player: Player) -> None:
    async with person(at.bench.gateway) as bob:
        playing = asyncio.create_task(_play(player, at, [[("wreck", {"what": "it"})]]))
        await bob.approves_the_next()
        _, seen = await playing

    assert seen.results[0].text == "gone"
    assert at.ran == [("wreck", "it")]


async def test_a_call_that_a_person_has_to_decide_about_is_picked_up_by_the_same_call(
    at: Played, player: Player
) -> None:
    calls = [[("wreck", {"what": "it"})], [("wreck", {"what": "it"})], [("echo", {"text": "after"})]]
    results: list[CallResult] = []
    options = AdapterOptions(checkpoint_mode="detach", on_result=results.append)
    async with person(at.bench.gateway) as bob:
        playing = asyncio.create_task(_play(player, at, calls, options))
        asked = await bob.asked()
        await eventually(lambda: len(results) > 0)  # the model has its answer
        await bob.approves(asked)
        _, waiting, done, _ = await playing

    assert "A person has to decide about this call. Nothing has run yet." in waiting.results[0].text
    assert waiting.results[0].is_error in (False, None)
    assert done.results[0].text == "gone"
    assert at.ran == [("wreck", "it"), ("echo", "after")]
    assert [one.status for one in results] == [CallStatus.AWAITING_CHECKPOINT, *[CallStatus.COMPLETED] * 2]


async def test_an_error_of_a_tool_is_a_result(at: Played, player: Player) -> None:
    _, seen = await player(at.session, [[("fail", {})]], None)

    assert seen.results[0].text == "no such file: a.txt"
    assert seen.results[0].is_error in (True, None)


async def test_a_picture_is_the_frameworks_own_picture(at: Played, player: Player) -> None:
    _, seen = await player(at.session, [[("draw", {})]], None)

    (result,) = seen.results
    assert "a dot" in result.text
    if player.__name__ == "openai_chat":
        assert f"[image/png, {len(PICTURE)} bytes, not shown]" in result.text
    else:
        assert result.pictures == [b64encode(PICTURE).decode()]


async def test_a_model_challenges_its_call_with_one_more_argument(at: Played, player: Player) -> None:
    calls: Turns = [[("ponder", {"value": "b"})], [("ponder", {"value": "b", "_interlock_deliverable": THOUGHT})]]
    first, asked, after = await player(at.session, calls, None)

    assert "Nothing has run yet." in asked.results[0].text
    assert "_interlock_deliverable" not in first.tools["ponder"][1]["properties"]
    assert set(asked.tools["ponder"][1]["properties"]["_interlock_deliverable"]["required"]) == set(THOUGHT)
    assert after.results[0].text == "did b"
    assert at.ran == [("ponder", "b")]


@pytest.mark.parametrize("player", ON_THE_LOOP, ids=lambda player: player.__name__)
async def test_what_one_turn_changes_is_changed_in_the_order_given(at: Played, player: Player) -> None:
    _, seen = await player(at.session, [[("set_value", {"value": str(n)}) for n in range(8)]], None)

    assert [value for _, value in at.ran] == [str(n) for n in range(8)]
    assert [one.text for one in seen.results] == ["was first", *(f"was {n}" for n in range(7))]


async def test_a_result_that_is_too_long_says_where_the_rest_is_and_the_model_reads_it(
    at: Played, player: Player
) -> None:
    lines = "".join(f"line {n}\n" for n in range(9000))
    first, cut = await player(at.session, [[("echo", {"text": lines})]], None)
    (text,) = (one.text for one in cut.results)
    (uri,) = set(re.findall(r"artifact://[\w./-]+[\w]", text))
    _, rest = await player(at.session, [[("read_artifact", {"uri": uri, "offset": 8990, "limit": 2})]], None)

    assert "read_artifact" in first.tools
    assert len(text) < 20_000
    assert "line 8989\nline 8990" in rest.results[0].text


@pytest.mark.parametrize("player", ON_THE_LOOP, ids=lambda player: player.__name__)
async def test_cancelling_the_run_cancels_the_call(at: Played, player: Player) -> None:
    playing = asyncio.create_task(_play(player, at, [[("hold", {})]]))
    async with asyncio.timeout(30):
        await at.held.begun.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        await at.held.cancelled.wait()


@pytest.mark.parametrize("player", ONE_OF_EACH, ids=lambda player: player.__name__)
async def test_a_deadline_is_a_result_whoever_of_both_notices_it_first(at: Played, player: Player) -> None:
    _, seen = await player(at.session, [[("hold", {})]], AdapterOptions(timeout=PATIENCE_S))

    noticed = ("it is not known whether the call ran", "did not answer in time")
    assert any(words in seen.results[0].text for words in noticed)
    assert seen.results[0].is_error in (True, None)


@pytest.mark.parametrize("player", ONE_OF_EACH, ids=lambda player: player.__name__)
async def test_a_call_that_nobody_decides_about_in_time_is_said_not_to_have_run(at: Played, player: Player) -> None:
    async with person(at.bench.gateway):
        _, seen = await player(at.session, [[("wreck", {"what": "it"})]], AdapterOptions(timeout=PATIENCE_S))

    assert "not known" not in seen.results[0].text
    assert seen.results[0].is_error in (True, None)
    assert at.ran == []


async def test_whoever_asks_for_it_gets_an_exception(at: Played, player: Player) -> None:
    with pytest.raises((errors.DeniedError, agents.exceptions.UserError)) as raised:
        await player(at.session, [[("careful", {"text": "x"})]], AdapterOptions(raises=True))
    # The Agents SDK wraps what a tool raises.
    assert isinstance(raised.value if player is not openai_agents_sdk else raised.value.__cause__, errors.DeniedError)


async def _play(player: Player, at: Played, calls: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    return await player(at.session, calls, options)
