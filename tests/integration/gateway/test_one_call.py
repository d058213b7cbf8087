"""One call, end to end: what a client sends, what the provider really did, and what the client reads."""

import asyncio
from pathlib import Path

import grpc.aio
import pytest
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock import CallStatus, Verdict
from interlock.errors import InvalidRequestError
from interlock.provider import ToolResult, UndoInfo, tool
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as rpc
from interlock.v1.tool_pb2 import ListedTool
from interlock.v1.undo_pb2 import UNDO_METHOD_MANUAL, UNDO_METHOD_TOOL


async def raw_call(at: Bench, tool: str, raw: bytes, session: str = "s", call_id: str = "") -> pb.CallToolResponse:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        request = pb.CallToolRequest()
        request.call.session_id, request.call.tool, request.call.input = session, tool, raw
        request.call.call_id = call_id
        response: pb.CallToolResponse = await rpc.GatewayServiceStub(channel).CallTool(request, timeout=10)
        return response


async def listed(at: Bench) -> dict[str, ListedTool]:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        response = await rpc.GatewayServiceStub(channel).ListTools(pb.ListToolsRequest(session_id="s"), timeout=10)
        return {found.definition.name: found for found in response.tools}


@pytest.mark.req("PIPE-1", "PIPE-2")
async def test_a_read_only_call_is_allowed_runs_and_answers(at: Bench) -> None:
    result = await at.agent.session("s").call("echo", {"text": "hello"})
    assert result.status is CallStatus.COMPLETED
    assert result.text == "hello"
    assert result.decision.verdict is Verdict.ALLOW
    assert result.decision.policy_revision == at.gateway.endpoints.policy_revision
    assert len(result.decision.call_digest) == 64
    assert at.ledger.ran == [("echo", "hello")]


async def test_an_alias_means_the_same_tool(at: Bench) -> None:
    assert (await at.agent.session("s").call("say", {"text": "hi"})).text == "hi"


async def test_an_unknown_tool_is_denied_and_names_the_nearest(at: Bench) -> None:
    result = await at.agent.session("s").call("ech", {})
    assert result.status is CallStatus.DENIED
    assert result.text == "There is no tool named 'ech' in this session. Did you mean echo?"


MALFORMED = {
    "not JSON": (b"{", "property name enclosed in double quotes (byte 1)"),
    "an array": (b"[1]", "input must be a JSON object, not an array"),
    "null": (b"null", "input must be a JSON object, not null"),
    "duplicate keys": (b'{"text":"a","text":"b"}', 'the key "text" more than once (at /text)'),
    "duplicate keys by escape": (b'{"text":"a","\\u0074ext":"b"}', 'the key "text" more than once (at /text)'),
    "NaN": (b'{"text":NaN}', "NaN is not a JSON number (at /text)"),
    "Infinity": (b'{"text":-Infinity}', "-Infinity is not a JSON number (at /text)"),
    "a number out of range": (b'{"text":1e400}', "number 1e400 is out of range (at /text)"),
    "an inexact integer": (b'{"text":9007199254740993}', "send it as a string (at /text)"),
    "a lone surrogate": (b'{"text":"\\ud800"}', "which is not a character (at /text)"),
    "a byte order mark": (b'\xef\xbb\xbf{"text":"a"}', "byte order mark"),
    "invalid UTF-8": (b'{"text":"\xff"}', "not valid UTF-8 at byte 9"),
    "a raw control character": (b'{"text":"\x00"}', "Invalid control character at (byte 9)"),
    "deep nesting": (b'{"text":' + b"[" * 70 + b"]" * 70 + b"}", f"deeper than 64 levels (at /text{'/0' * 63})"),
    "very deep nesting": (b'{"text":' + b"[" * 100_000, "nests deeper than 64 levels (byte 71)"),
    "too large": (b'{"text":"' + b"a" * (4 * 1024 * 1024) + b'"}', "at most 4194304 are accepted"),
}


@pytest.mark.req("PIPE-3")
@pytest.mark.parametrize("case", MALFORMED)
async def test_malformed_input_is_refused_with_the_problem_and_nothing_is_dispatched(at: Bench, case: str) -> None:
    raw, problem = MALFORMED[case]
    result = (await raw_call(at, "echo", raw)).result
    assert result.status == 2  # denied
    assert problem in result.content[0].text.text
    assert result.decision.reasons[0].code == "invalid_input"
    assert at.ledger.ran == []


# What is wrong in two ways is refused for what is looked at first.
TWICE_WRONG = {
    "size before the tool": ("nothing", MALFORMED["too large"][0], "invalid_input"),
    "depth before the tool": ("nothing", MALFORMED["very deep nesting"][0], "invalid_input"),
    "the decision before the schema": ("careful", b'{"text":3}', "confidence_missing"),
    "the schema before a person": ("wreck", b'{"what":3}', "invalid_arguments"),
}


@pytest.mark.req("PIPE-2")
@pytest.mark.parametrize("case", TWICE_WRONG)
async def test_the_steps_of_a_call_follow_in_one_order(at: Bench, case: str) -> None:
    tool_name, raw, code = TWICE_WRONG[case]
    result = (await raw_call(at, tool_name, raw)).result
    assert [reason.code for reason in result.decision.reasons] == [code]
    assert at.ledger.ran == []


@pytest.mark.req("PIPE-3")
async def test_the_tool_gets_what_was_sent_byte_for_byte(at: Bench) -> None:
    weird = 'é \u2028 \U0001f600 \\u0041 "quoted" \t'
    result = await at.agent.session("s").call("echo", {"text": weird})
    assert result.text == weird
    assert at.ledger.ran == [("echo", weird)]


@pytest.mark.req("PIPE-4")
async def test_arguments_that_do_not_fit_the_schema_are_listed_by_path(at: Bench) -> None:
    result = await at.agent.session("s").call("echo", {"text": 3, "more": True})
    assert result.status is CallStatus.DENIED
    assert "input.text: 3 is not of type" in result.text
    assert "'more' was unexpected" in result.text
    assert at.ledger.ran == []


@pytest.mark.req("PIPE-10")
async def test_the_same_call_id_with_the_same_input_runs_once(at: Bench) -> None:
    session = at.agent.session("s")
    first = await session.call("set_value", {"value": "b"}, call_id="c1")
    again = await session.call("set_value", {"value": "b"}, call_id="c1")
    assert (first.text, again.text) == ("was first", "was first")
    assert at.ledger.names() == ["set_value"]


@pytest.mark.req("PIPE-10")
async def test_the_same_call_id_with_another_input_is_refused(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("set_value", {"value": "b"}, call_id="c1")
    with pytest.raises(InvalidRequestError) as refused:
        await session.call("set_value", {"value": "c"}, call_id="c1")
    assert "was used for another call" in str(refused.value)
    assert at.ledger.names() == ["set_value"]


@pytest.mark.req("PIPE-10")
async def test_racing_calls_with_one_id_run_once(at: Bench) -> None:
    session = at.agent.session("s")
    results = await asyncio.gather(*(session.call("set_value", {"value": "b"}, call_id="c1") for _ in range(20)))
    assert {result.text for result in results} == {"was first"}
    assert at.ledger.names() == ["set_value"]


@pytest.mark.req("PIPE-10", "STATE-1")
async def test_a_call_id_is_remembered_across_a_restart(socket_directory: Path) -> None:
    ledger = Ledger()
    async with bench(socket_directory, ledger=ledger) as before:
        await before.agent.session("s").call("set_value", {"value": "b"}, call_id="c1")
    async with bench(socket_directory, ledger=ledger) as after:
        again = await after.agent.session("s").call("set_value", {"value": "b"}, call_id="c1")
    assert again.text == "was first"
    assert ledger.names() == ["set_value"]


@pytest.mark.req("PIPE-10")
async def test_a_call_id_is_remembered_when_its_tool_has_gone(socket_directory: Path) -> None:
    async with bench(socket_directory) as before:
        await before.agent.session("s").call("set_value", {"value": "b"}, call_id="c1")
    async with bench(socket_directory, tools=lambda ledger: ledger_tools(ledger)[:1]) as after:
        session = after.agent.session("s")
        with pytest.raises(InvalidRequestError, match="used for another call"):
            await session.call("set_value", {"value": "c"}, call_id="c1")
        again = await session.call("set_value", {"value": "b"}, call_id="c1")
        another = await session.call("set_value", {"value": "b"}, call_id="c2")
    assert (again.status, again.text) == (CallStatus.COMPLETED, "was first")
    assert (another.status, "no tool named" in another.text) == (CallStatus.DENIED, True)


@pytest.mark.req("TOOL-1", "CHK-1", "CHK-2")
@pytest.mark.parametrize("tool", ["wreck", "undeclared"])
async def test_what_needs_a_person_is_denied_at_once_while_nobody_can_answer(at: Bench, tool: str) -> None:
    result = await at.agent.session("s").call(tool, {"what": "x"} if tool == "wreck" else {"text": "x"})
    assert result.status is CallStatus.DENIED
    assert result.text == "checkpoint required but no approval handler is registered"
    assert at.ledger.ran == []


@pytest.mark.req("UNDO-1", "PIPE-9")
async def test_a_change_is_journaled_with_how_to_undo_it(at: Bench) -> None:
    session = at.agent.session("s")
    result = await session.call("set_value", {"value": "b"})
    assert result.undo is not None
    assert result.undo.input == {"value": "first"}
    (operation,) = await session.operations()
    assert operation.undo is not None
    assert (operation.tool, operation.undo.tool) == ("set_value", "set_value")


@pytest.mark.req("UNDO-5")
async def test_a_definition_foretells_the_undo_and_the_journal_holds_what_the_result_said(
    socket_directory: Path,
) -> None:
    @tool(destructive=False, reversible=True, undo_tool="foretold")
    def change() -> ToolResult:
        """Change, and be undone in another way than foretold."""
        return ToolResult(content="changed", undo=UndoInfo(tool="really", input={"back": "to first"}))

    @tool(destructive=False, reversible=True, undo_method="manual")
    def change_by_hand() -> ToolResult:
        """Change what only a person can take back."""
        return ToolResult(content="changed", undo=UndoInfo(manual_guide="Turn it back."))

    async with bench(socket_directory, tools=lambda _: [change, change_by_hand]) as at:
        foretold = {name: found.definition.capability for name, found in (await listed(at)).items()}
        assert (foretold["change"].undo_method, foretold["change"].undo_tool) == (UNDO_METHOD_TOOL, "foretold")
        by_hand = foretold["change_by_hand"]
        assert (by_hand.undo_method, by_hand.undo_tool) == (UNDO_METHOD_MANUAL, "")
        session = at.agent.session("s")
        await session.call("change", {})
        await session.call("change_by_hand", {})
        undos = {operation.tool: operation.undo for operation in await session.operations()}
        assert undos["change"] is not None
        assert (undos["change"].tool, undos["change"].input) == ("really", {"back": "to first"})
        assert undos["change_by_hand"] is not None
        assert (undos["change_by_hand"].tool, undos["change_by_hand"].manual_guide) == ("", "Turn it back.")


@pytest.mark.req("AUTH-2")
async def test_a_session_belongs_to_the_principal_that_opened_it(socket_directory: Path) -> None:
    from interlock import Gateway as Client
    from interlock.errors import NotAuthorizedError
    from interlock_gateway.config import IdentityConfig, TokenConfig
    from interlock_gateway.identity.authenticate import new_token

    token, digest = new_token()
    identity = IdentityConfig(tokens=(TokenConfig(principal="other", sha256=digest),))
    async with bench(socket_directory, identity=identity) as at:
        await at.agent.session("mine").call("echo", {"text": "a"})
        async with Client(at.gateway.endpoints.agents[1], token=token, plaintext=True) as other:
            assert (await other.session("theirs").call("echo", {"text": "b"})).text == "b"
            with pytest.raises(NotAuthorizedError):
                await other.session("mine").call("echo", {"text": "c"})
        async with Client(at.gateway.endpoints.agents[1], plaintext=True) as nobody:
            with pytest.raises(NotAuthorizedError):
                await nobody.session("x").call("echo", {"text": "d"})
    assert [text for _, text in at.ledger.ran] == ["a", "b"]
