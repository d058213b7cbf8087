"""What one framework has and others have not: streams, own tools, lists that stay, settings that come back."""

import asyncio
from typing import Any

import agents
import pytest
from adapter_bench import Played
from agents.testing import ScriptedModel, assistant_message, function_call
from interlock import Session
from interlock.adapters import AdapterOptions, langchain, langgraph, openai_agents, pydantic_ai
from interlock.results import CallResult
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from players import INSTRUCTIONS, ToldModel, in_threads
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

pytestmark = [pytest.mark.req("SDK-2"), pytest.mark.asyncio(loop_scope="module")]
QUIET = agents.RunConfig(tracing_disabled=True)
PREVIEW = function_call("replace_value", {"value": "b"}, call_id="1")
RESOLVE = function_call("resolve", {"action": "apply", "reason": "as asked"}, call_id="2")


@agents.function_tool
def lookup(word: str) -> str:
    """A tool of the agent's own."""
    return f"own {word}"


@agents.function_tool
def echo(text: str) -> str:
    """A tool of the agent's own that has a governed tool's name."""
    raise AssertionError(text)


def agent_at(session: Session, *steps: Any, **more: Any) -> tuple[openai_agents.GatewayAgent[None], ScriptedModel]:
    model = ScriptedModel([*steps, [assistant_message("done")]])
    made = openai_agents.GatewayAgent[None](name="a", instructions=INSTRUCTIONS, model=model, session=session, **more)
    return made, model


def outputs(model: ScriptedModel) -> list[Any]:
    return [item["output"] for item in model.calls[-1].input if item.get("type") == "function_call_output"]


async def test_the_agents_sdk_streams(at: Played) -> None:
    agent, model = agent_at(at.session, [PREVIEW], [RESOLVE])
    run = agents.Runner.run_streamed(agent, "go", run_config=QUIET)
    events = [event.type async for event in run.stream_events()]

    assert run.final_output == "done"
    assert "run_item_stream_event" in events
    assert outputs(model)[-1] == "now b"


async def test_an_agents_own_tools_and_settings_stay_its_own(at: Played) -> None:
    settings = agents.ModelSettings(tool_choice="required", temperature=0.5)
    agent, model = agent_at(
        at.session,
        [function_call("lookup", {"word": "x"}, call_id="0")],
        [PREVIEW],
        [RESOLVE],
        tools=[lookup],
        model_settings=settings,
    )
    await agents.Runner.run(agent, "go", run_config=QUIET)

    assert outputs(model) == ["own x", outputs(model)[1], "now b"]
    # As the SDK does by itself: the agent's own choice until a tool was used, and none after that.
    assert [call.model_settings.tool_choice for call in model.calls] == ["required", None, "resolve", None]
    assert {call.model_settings.temperature for call in model.calls} == {0.5}
    assert agent.clone(name="b").model_settings == settings


async def test_a_copy_of_an_agent_that_has_to_resolve_does_not_have_to(at: Played) -> None:
    agent, _ = agent_at(at.session)
    await at.session.call("replace_value", {"value": "b"})
    await agent.get_all_tools(agents.RunContextWrapper(None))
    assert agent.model_settings.tool_choice == "resolve"

    copy = agent.clone(session=at.bench.agent.session())
    assert copy.model_settings.tool_choice is None
    assert copy.reset_tool_choice
    names = [tool.name for tool in await copy.get_all_tools(agents.RunContextWrapper(None))]
    assert "echo" in names
    assert "resolve" not in names


async def test_of_two_tools_with_one_name_the_governed_one_is_called(at: Played) -> None:
    agent, model = agent_at(at.session, [function_call("echo", {"text": "x"}, call_id="1")], tools=[echo])
    await agents.Runner.run(agent, "go", run_config=QUIET)

    assert outputs(model) == ["x"]
    assert at.ran == [("echo", "x")]


async def test_instructions_that_are_made_for_each_run_are_followed_by_the_gateways(at: Played) -> None:
    agent, model = agent_at(at.session)
    agent.instructions = lambda context, of: f"{context.context} {of.name}"
    await agents.Runner.run(agent, "go", run_config=QUIET, context=None)

    listed = await at.session.tools()
    assert model.calls[0].system_instructions == f"None a\n\n{listed.prompt}"


async def test_any_agent_takes_a_list_of_the_tools_of_now(at: Played) -> None:
    tools = await openai_agents.function_tools(at.session)
    model = ScriptedModel([[function_call("echo", {"text": "x"}, call_id="1")], [assistant_message("done")]])
    await agents.Runner.run(agents.Agent(name="a", model=model, tools=list(tools)), "go", run_config=QUIET)

    assert outputs(model) == ["x"]


async def test_agents_at_two_sessions_hand_over(at: Played) -> None:
    other = await at.bench.agent.open_session(deferred_threshold=100)
    second, second_model = agent_at(other, [function_call("echo", {"text": "second"}, call_id="2")])
    first, _ = agent_at(
        at.session,
        [function_call("echo", {"text": "first"}, call_id="1")],
        [function_call("transfer_to_b", {}, call_id="h")],
        handoffs=[second],
    )
    second.name = "b"
    await agents.Runner.run(first, "go", run_config=QUIET)

    assert outputs(second_model)[-1] == "second"
    assert at.ran == [("echo", "first"), ("echo", "second")]


async def test_tools_that_a_session_activates_are_there_in_the_next_turn(at: Played) -> None:
    session = await at.bench.agent.open_session(deferred_threshold=2, always_loaded_tools=["fail"])
    agent, model = agent_at(
        session,
        [function_call("activate_tools", {"names": ["echo"]}, call_id="1")],
        [function_call("echo", {"text": "x"}, call_id="2")],
    )
    await agents.Runner.run(agent, "go", run_config=QUIET)

    offered = [{tool.name for tool in call.tools} for call in model.calls]
    assert "echo" not in offered[0]
    assert "echo" in offered[1]
    assert outputs(model)[-1] == "x"


async def test_a_tool_that_nobody_has_is_the_gateways_to_refuse(at: Played) -> None:
    model = ToldModel(turns=[[("nowhere", {})]], seen=[])
    agent: Any = create_agent(model, middleware=[langchain.GatewayMiddleware(at.session)])
    await agent.ainvoke({"messages": [("user", "go")]})

    assert "no tool named 'nowhere'" in model.seen[1].results[0].text
    assert model.seen[1].results[0].is_error


async def test_langchain_agents_keep_their_own_tools_and_the_governed_one_wins(at: Played) -> None:
    @langchain_tool
    async def own(word: str) -> str:
        """A tool of the agent's own."""
        return f"own {word}"

    @langchain_tool("echo")
    async def ungoverned(text: str) -> str:
        """A tool of the agent's own that has a governed tool's name."""
        raise AssertionError(text)

    model = ToldModel(turns=[[("own", {"word": "x"}), ("echo", {"text": "y"})]], seen=[])
    agent: Any = create_agent(model, tools=[own, ungoverned], middleware=[langchain.GatewayMiddleware(at.session)])
    await agent.ainvoke({"messages": [("user", "go")]})

    assert [one.text for one in model.seen[1].results] == ["own x", "y"]
    assert at.ran == [("echo", "y")]


async def test_a_message_of_langchain_holds_the_result(at: Played) -> None:
    gateway = langgraph.GatewayTools(at.session)
    message = await gateway.aanswer({"name": "echo", "args": {"text": "x"}, "id": "1"})
    assert message.artifact.completed
    assert message.artifact.decision.allowed


async def test_langchain_takes_a_list_of_the_tools_of_now(at: Played) -> None:
    tools = {tool.name: tool for tool in await langgraph.GatewayTools(at.session).atools()}
    call = {"type": "tool_call", "id": "1", "args": {"text": "x", "_flyto_confidence": 90}}

    assert (await tools["careful"].ainvoke({**call, "name": "careful"})).content == "x"
    failed: ToolMessage = await tools["fail"].ainvoke({**call, "name": "fail", "args": {}})
    assert (failed.content, failed.status) == ("no such file: a.txt", "error")
    named = {name: name for name in ("config", "run_manager", "callbacks", "tool_call_id", "ctx")}
    assert await tools["oddly_called"].ainvoke(named) == " ".join(named)
    assert await tools["files_read_one"].ainvoke({"path": "a"}) == "content of a"
    drawn: ToolMessage = await tools["draw"].ainvoke({**call, "name": "draw", "args": {}})
    assert [part["type"] for part in drawn.content if isinstance(part, dict)] == ["text", "image"]

    in_thread = await asyncio.to_thread(langgraph.GatewayTools(in_threads(at.session)).tools)
    (echoing,) = [tool for tool in in_thread if tool.name == "echo"]
    assert await asyncio.to_thread(echoing.invoke, {"text": "y"}) == "y"


async def test_a_session_of_the_other_kind_is_refused_in_words(at: Played) -> None:
    with pytest.raises(TypeError, match="give a SyncSession"):
        langgraph.GatewayTools(at.session).offer()
    with pytest.raises(TypeError, match="give a Session"):
        await langgraph.GatewayTools(in_threads(at.session)).aoffer()


async def test_a_graph_in_threads_takes_its_calls_to_the_gateway(at: Played) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", langgraph.GatewayTools(in_threads(at.session)).node())
    graph.set_entry_point("tools")
    compiled: Any = graph.compile()
    calls = [{"name": "echo", "args": {"text": text}, "id": text} for text in ("a", "b")]
    state = await asyncio.to_thread(compiled.invoke, {"messages": [AIMessage("", tool_calls=calls)]})

    assert [message.content for message in state["messages"][1:]] == ["a", "b"]


async def test_a_graph_that_is_resumed_after_a_crash_runs_no_call_twice(at: Played) -> None:
    crashes = iter([True])

    def crash_once(_: CallResult) -> None:
        if next(crashes, False):
            raise OSError("the power is cut after the call has run")

    options = AdapterOptions(framework_ids=True, on_result=crash_once)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", langgraph.GatewayTools(at.session, options).node())
    graph.set_entry_point("tools")
    compiled: Any = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    asked = AIMessage("", tool_calls=[{"name": "set_value", "args": {"value": "b"}, "id": "call_1"}])

    with pytest.raises(OSError, match="the power is cut"):
        await compiled.ainvoke({"messages": [asked]}, config)
    state = await compiled.ainvoke(None, config)

    assert state["messages"][-1].content == "was first"
    assert at.ran == [("set_value", "b")]


def said(*parts: ToolCallPart | TextPart) -> FunctionModel:
    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[parts[sum(isinstance(one, ModelResponse) for one in messages)]])

    return FunctionModel(model)


async def test_a_toolset_of_pydantic_ai_can_be_prefixed(at: Played) -> None:
    toolset = pydantic_ai.GatewayToolset[object](at.session).prefixed("safe")
    model = said(ToolCallPart("safe_files_read_one", {"path": "a"}), TextPart("done"))
    run = await PydanticAgent(model).run("go", toolsets=[toolset])

    (returned,) = [
        part
        for message in run.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert returned.content == "content of a"
    assert returned.metadata.completed


async def test_pydantic_ai_refuses_two_tools_with_one_name(at: Played) -> None:
    agent = PydanticAgent(said(TextPart("done")))

    @agent.tool_plain(name="echo")
    def ungoverned(text: str) -> str:
        """A tool of the agent's own that has a governed tool's name."""
        raise AssertionError(text)

    with pytest.raises(UserError, match="echo"):
        await agent.run("go", capabilities=[pydantic_ai.GatewayTools(at.session)])


async def test_one_agent_of_pydantic_ai_serves_a_session_for_each_run(at: Played) -> None:
    agent = PydanticAgent(said(ToolCallPart("echo", {"text": "x"}), TextPart("done")))
    other = await at.bench.agent.open_session(deferred_threshold=100)
    seen: list[str] = []
    for session in (at.session, other):
        options = AdapterOptions(on_result=lambda result: seen.append(result.call_id))
        await agent.run("go", capabilities=[pydantic_ai.GatewayTools(session, options)])

    assert len(seen) == 2
    for session, call_id in zip((at.session, other), seen, strict=True):
        assert (await session.get_call(call_id)).settled
