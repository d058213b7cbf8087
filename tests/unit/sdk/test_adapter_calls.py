"""How adapters make calls, at a scripted gateway: batches, what was malformed, ids, and gateways that go away."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from interlock import Session, _call_flows
from interlock.adapters import AdapterOptions, _bridge
from interlock.adapters._answers import DENIED
from interlock.adapters.openai_agents import GatewayAgent
from interlock.adapters.pydantic_ai import GatewayToolset
from interlock.adapters.raw import OpenAIChatTools, SyncAnthropicTools
from interlock.calls import CallRecord, CallState
from interlock.errors import DeadlineExceededError, DeniedError, GatewayUnavailableError
from interlock.results import CallResult
from interlock.testing import Allow, Checkpoint, Deny, FakeGateway, Preview, Reflect, RpcFailure

pytestmark = pytest.mark.req("SDK-2")
THOUGHT = {
    "hidden_assumptions": ["none"],
    "failure_scenarios": ["all"],
    "verdict": "proceed",
    "verdict_reason": "checked",
}


@pytest.fixture
def fake() -> Iterator[FakeGateway]:
    with FakeGateway() as made:
        made.on("read", Allow(lambda given: f"read {given}"))
        yield made


@pytest.fixture
async def session(fake: FakeGateway) -> AsyncIterator[Session]:
    async with fake.gateway(timeout=20) as gateway:
        yield gateway.session("s-1")


def message(*calls: tuple[str, Any]) -> dict[str, Any]:
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls)
    ]
    return {"role": "assistant", "tool_calls": made}


async def texts(tools: OpenAIChatTools, *calls: tuple[str, Any]) -> list[str]:
    return [one["content"] for one in await tools.answer(message(*calls))]


async def test_a_session_of_the_other_kind_is_refused_at_once(fake: FakeGateway, session: Session) -> None:
    given: Any = session
    with pytest.raises(TypeError, match="give a SyncSession, not a Session"):
        SyncAnthropicTools(given)
    with fake.sync_gateway() as gateway:
        given = gateway.session()
        for adapter in (OpenAIChatTools, GatewayToolset, lambda one: GatewayAgent(name="a", session=one)):
            with pytest.raises(TypeError, match="give a Session, not a SyncSession"):
                adapter(given)


async def test_calls_of_one_turn_are_answered_in_their_order(fake: FakeGateway, session: Session) -> None:
    fake.on("write", Deny("not here"))
    calls = [("read", {"n": 1}), ("write", {}), ("read", {"n": 2}), ("nowhere", {})]
    answers = await texts(OpenAIChatTools(session), *calls)
    assert answers == [
        "read {'n': 1}",
        f"not here\n{DENIED}",
        "read {'n': 2}",
        f"There is no tool named 'nowhere' in this session.\n{DENIED}",
    ]


@pytest.mark.parametrize("given", [None, 5, [], ["a"], {1, 2}])
async def test_arguments_that_are_none_end_no_run(session: Session, given: Any) -> None:
    reply = message(("read", {}))
    reply["tool_calls"][0]["function"]["arguments"] = given
    (answer,) = await OpenAIChatTools(session).answer(reply)
    # Whether that is an input is the gateway's to say, and the scripted one says nothing.
    assert answer["content"].startswith(("read {}",) if given is None else ("read ", "The gateway refused"))


async def test_more_calls_than_fit_in_a_batch_are_made_in_several(session: Session) -> None:
    answers = await texts(OpenAIChatTools(session), *(("read", {"n": n}) for n in range(203)))
    assert answers == [f"read {{'n': {n}}}" for n in range(203)]


async def test_one_call_that_is_malformed_leaves_the_others_of_its_turn_alone(session: Session) -> None:
    bad = {"_interlock_deliverable": {"verdict": "perhaps"}}
    first, second, third = await texts(OpenAIChatTools(session), ("read", {"n": 1}), ("read", bad), ("read", {"n": 2}))
    assert (first, third) == ("read {'n': 1}", "read {'n': 2}")
    assert second.startswith("The gateway refused the request, and nothing ran: call.deliverable.verdict:")


@pytest.mark.parametrize(
    "call",
    [
        ("\ud800", {}),
        ("read", '{"a": "\ud800"}'),
        ("read", {"_interlock_deliverable": {**THOUGHT, "verdict_reason": "\ud800"}}),
        ("read", {"_interlock_deliverable": {**THOUGHT, "verdict": ["proceed"]}}),
        ("read", '{"_interlock_deliverable": ' + "[" * 100_000),
        ("read", '{"_interlock_deliverable": {}, "a": 1e999}'),
        ("read", "nothing like JSON"),
        ("read", "[1]"),
    ],
)
async def test_whatever_a_model_writes_is_answered(session: Session, call: tuple[str, Any]) -> None:
    first, second = await texts(OpenAIChatTools(session), call, ("read", {"n": 1}))
    assert first
    assert second == "read {'n': 1}"


async def test_all_results_of_a_turn_are_handed_over_before_one_is_raised(fake: FakeGateway, session: Session) -> None:
    fake.on("write", Deny("not here"))
    seen: list[CallResult] = []
    tools = OpenAIChatTools(session, AdapterOptions(raises=True, on_result=seen.append))
    with pytest.raises(DeniedError):
        await tools.answer(message(("write", {}), ("read", {"n": 1})))
    assert [one.completed for one in seen] == [False, True]


async def test_a_call_that_was_approved_and_runs_still_is_not_made_again(
    fake: FakeGateway, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(core: Any, call_id: str, *, timeout: float | None = None) -> Any:
        del timeout
        yield from ()
        return CallRecord(session_id=core.session_id, call_id=call_id, state=CallState.DISPATCHING)

    fake.on("read", Checkpoint("wait", Allow("read")))
    tools = OpenAIChatTools(session, AdapterOptions(checkpoint_mode="detach"))
    assert "Make the same call again" in (await texts(tools, ("read", {})))[0]
    with monkeypatch.context() as patched:
        patched.setattr(_call_flows, "wait_call", runs)
        assert "it is not known whether the call ran" in (await texts(tools, ("read", {})))[0]
    fake.decide(next(iter(fake._sessions["s-1"].waiting)), "approve")
    assert await texts(tools, ("read", {})) == ["read"]
    assert len(fake.ran) == 1


async def test_no_arguments_are_an_empty_object(session: Session) -> None:
    assert await texts(OpenAIChatTools(session), ("read", "")) == ["read {}"]


async def test_a_deliverable_goes_beside_the_input(fake: FakeGateway, session: Session) -> None:
    fake.on("read", Reflect(Allow("thought")))
    tools = OpenAIChatTools(session)
    assert "Repeat the call" in (await texts(tools, ("read", {"n": 1})))[0]
    assert await texts(tools, ("read", {"n": 1, "_interlock_deliverable": THOUGHT})) == ["thought"]
    assert [call.input for call in fake.calls] == [{"n": 1}, {"n": 1}]
    assert fake.calls[-1].deliverable is not None


@pytest.mark.parametrize("given", ["verdict", {"verdict": "proceed"}, {**THOUGHT, "hidden_assumptions": "a text"}])
async def test_a_deliverable_of_another_shape_is_an_answer_and_no_exception(
    fake: FakeGateway, session: Session, given: Any
) -> None:
    fake.on("read", Reflect(Allow("thought")))
    (answer,) = await texts(OpenAIChatTools(session), ("read", {"_interlock_deliverable": given}))
    assert answer


async def test_arguments_with_a_key_twice_are_sent_as_they_are(fake: FakeGateway, session: Session) -> None:
    twice = '{"_interlock_deliverable": {}, "a": 1, "a": 2}'
    await OpenAIChatTools(session).answer(message(("read", twice)))
    assert "_interlock_deliverable" in fake.calls[0].input


async def test_with_the_frameworks_ids_a_call_that_is_made_again_runs_once(fake: FakeGateway, session: Session) -> None:
    tools = OpenAIChatTools(session, AdapterOptions(framework_ids=True))
    assert await texts(tools, ("read", {"n": 1})) == await texts(tools, ("read", {"n": 1}))
    assert [call.call_id for call in fake.calls] == ["call_0"]

    tools = OpenAIChatTools(session)
    assert await texts(tools, ("read", {"n": 1})) == await texts(tools, ("read", {"n": 1}))
    assert len(fake.ran) == 3


async def test_the_test_double_resolves_when_a_model_calls_resolve(fake: FakeGateway, session: Session) -> None:
    fake.on("edit", Preview("-a\n+b", Allow("edited"), label="edit a"))
    tools = OpenAIChatTools(session)
    for action, words in (("apply", "edited"), ("discard", "Discarded: edit a. Reason: so")):
        await tools.answer(message(("edit", {})))
        offer = await tools.offer()
        assert offer.tool_choice == {"type": "function", "function": {"name": "resolve"}}
        assert "takes an action" in (await texts(tools, ("resolve", {"action": "perhaps"})))[0]
        assert await texts(tools, ("resolve", {"action": action, "reason": "so"})) == [words]
        assert (await tools.offer()).tool_choice is None
    assert "No pending action" in (await texts(tools, ("resolve", {"action": "apply", "reason": "so"})))[0]


async def test_what_goes_with_calls_is_sent_with_each(fake: FakeGateway, session: Session) -> None:
    options = AdapterOptions(workdir="/w", intent="look", labels={"team": "docs"})
    tools = OpenAIChatTools(session, options)
    await tools.answer(message(("read", {}), ("read", {"n": 1})))
    assert {(call.workdir, call.intent, call.labels["team"]) for call in fake.calls} == {("/w", "look", "docs")}


async def test_a_gateway_that_fails_is_an_answer_unless_the_caller_wants_to_know(
    fake: FakeGateway, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bridge, "PATIENCE_S", 0.5)
    fake.on("read", RpcFailure(grpc.StatusCode.INTERNAL, message="at 10.0.0.7"))
    (answer,) = await texts(OpenAIChatTools(session), ("read", {}))
    assert "it is not known whether the call ran" in answer
    assert "10.0.0.7" not in answer

    fake.stop()
    both = await texts(OpenAIChatTools(session, AdapterOptions(timeout=0.5)), ("read", {}), ("read", {}))
    assert all("it is not known whether the call ran" in answer for answer in both)
    with pytest.raises((DeadlineExceededError, GatewayUnavailableError)):
        await texts(OpenAIChatTools(session, AdapterOptions(timeout=0.5, raises=True)), ("read", {}))
    with pytest.raises((DeadlineExceededError, GatewayUnavailableError)):
        await OpenAIChatTools(session, AdapterOptions(timeout=0.5)).offer()


async def test_a_tool_without_a_schema_is_offered_with_what_apis_ask_for(session: Session) -> None:
    offer = await OpenAIChatTools(session).offer()
    assert offer.request["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert "tool_choice" not in offer.request
