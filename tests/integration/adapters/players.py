"""Each framework's own agent loop, with a model that says what it is told and notes what it was shown.

A script has for each turn the calls that the model makes; a turn without any ends the run. `Seen` is what it was shown
before each turn: the tools, which of them it must call, its prompt, and the results of the turn before.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import agents
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from interlock import Session, SyncGateway, SyncSession
from interlock.adapters import AdapterOptions, langchain, langgraph, openai_agents, pydantic_ai, raw
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import BinaryContent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

Turns: TypeAlias = Sequence[Sequence[tuple[str, Any]]]
INSTRUCTIONS = "You are careful."


@dataclass
class Result:
    """A call's result as the model reads it. `pictures` are base64; `is_error` is None where the API cannot say it."""

    text: str
    is_error: bool | None = None
    pictures: list[str] = field(default_factory=list)


@dataclass
class Seen:
    """What the model was shown before one of its turns."""

    tools: dict[str, tuple[str, Mapping[str, Any]]]
    required: str
    prompt: str
    results: list[Result]


Player: TypeAlias = Callable[[Session, Turns, AdapterOptions | None], Awaitable[list[Seen]]]


def in_threads(session: Session) -> SyncSession:
    """The same session, for threads."""
    return SyncGateway(session.driver._connection.address, timeout=session.timeout).session(session.session_id)


async def openai_agents_sdk(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """The OpenAI Agents SDK's runner."""
    seen: list[Seen] = []

    def respond(call: Any) -> ModelStep:
        outputs = [item["output"] for item in call.input if item.get("type") == "function_call_output"]
        seen.append(
            Seen(
                {tool.name: (tool.description, tool.params_json_schema) for tool in call.tools},
                call.model_settings.tool_choice or "",
                call.system_instructions or "",
                [_of_items(output) for output in outputs[sum(len(one.results) for one in seen) :]],
            )
        )
        calls = turns[len(seen) - 1] if len(seen) <= len(turns) else ()
        made = [function_call(name, asked, call_id=f"{len(seen)}-{n}") for n, (name, asked) in enumerate(calls)]
        return ModelStep(output=made or [assistant_message("done")])

    model = ScriptedModel([ModelStep.respond(respond) for _ in range(len(turns) + 1)])
    agent = openai_agents.GatewayAgent[None](
        name="agent", instructions=INSTRUCTIONS, model=model, session=session, options=options
    )
    result = await agents.Runner.run(agent, "go", run_config=agents.RunConfig(tracing_disabled=True))
    assert result.final_output == "done"
    return seen


class ToldModel(BaseChatModel):
    """A chat model of LangChain's that says what it is told."""

    turns: list[Any]
    seen: list[Any] = []  # noqa: RUF012 - pydantic copies it
    bound: dict[str, Any] = {}  # noqa: RUF012 - as above

    @property
    def _llm_type(self) -> str:
        return "told"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Any:
        del kwargs
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        del args
        results = [_of_message(message) for message in messages if isinstance(message, ToolMessage)]
        self.seen.append(
            Seen(
                _functions(kwargs.get("tools", [])),
                kwargs.get("tool_choice") or "",
                "".join(str(message.content) for message in messages if isinstance(message, SystemMessage)),
                results[sum(len(one.results) for one in self.seen) :],
            )
        )
        calls = self.turns[len(self.seen) - 1] if len(self.seen) <= len(self.turns) else ()
        made = [ToolCall(name=name, args=given, id=f"{len(self.seen)}-{n}") for n, (name, given) in enumerate(calls)]
        message = AIMessage(content="" if made else "done", tool_calls=made)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def langchain_agent(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """An agent of `create_agent`, on the event loop."""
    model = ToldModel(turns=list(turns), seen=[])
    middleware = langchain.GatewayMiddleware(session, options)
    agent: Any = create_agent(model, system_prompt=INSTRUCTIONS, middleware=[middleware])
    await agent.ainvoke({"messages": [("user", "go")]})
    return model.seen


async def langchain_threads(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """The same in a thread."""
    model = ToldModel(turns=list(turns), seen=[])
    middleware = langchain.GatewayMiddleware(in_threads(session), options)
    agent: Any = create_agent(model, system_prompt=INSTRUCTIONS, middleware=[middleware])
    await asyncio.to_thread(agent.invoke, {"messages": [("user", "go")]})
    return model.seen


async def langgraph_graph(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """A graph of a model and a node for tools."""
    model, gateway = ToldModel(turns=list(turns), seen=[]), langgraph.GatewayTools(session, options)

    async def think(state: MessagesState) -> dict[str, Any]:
        offer = await gateway.aoffer()
        bound = model.bind_tools(offer.tools, tool_choice=offer.tool_choice)
        prompt = SystemMessage(f"{INSTRUCTIONS}\n\n{offer.prompt}")
        return {"messages": [await bound.ainvoke([prompt, *state["messages"]])]}

    def after(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", gateway.node())
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", after, ["tools", END])
    graph.add_edge("tools", "think")
    compiled: Any = graph.compile()
    await compiled.ainvoke({"messages": [("user", "go")]})
    return model.seen


async def pydantic_ai_agent(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """Pydantic AI's agent."""
    seen: list[Seen] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        results = [
            _of_part(part)
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        choice = (info.model_settings or {}).get("tool_choice")
        seen.append(
            Seen(
                {tool.name: (tool.description or "", tool.parameters_json_schema) for tool in info.function_tools},
                choice[0] if isinstance(choice, list) else "",
                info.instructions or "",
                results[sum(len(one.results) for one in seen) :],
            )
        )
        calls = turns[len(seen) - 1] if len(seen) <= len(turns) else ()
        made = [ToolCallPart(name, given, f"{len(seen)}-{n}") for n, (name, given) in enumerate(calls)]
        return ModelResponse(parts=made) if made else ModelResponse(parts=[TextPart("done")])

    agent = PydanticAgent(FunctionModel(model), instructions=INSTRUCTIONS)
    result = await agent.run("go", capabilities=[pydantic_ai.GatewayTools(session, options)])
    assert result.output == "done"
    return seen


async def openai_chat(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """A loop of one's own over chat completions."""

    def reply(turn: int, calls: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        made = [
            {"id": f"{turn}-{n}", "type": "function", "function": {"name": name, "arguments": _json(given)}}
            for n, (name, given) in enumerate(calls)
        ]
        return {"role": "assistant", "content": None, "tool_calls": made}

    def results(added: list[dict[str, Any]]) -> list[Result]:
        return [Result(message["content"]) for message in added]

    return await _looped(raw.OpenAIChatTools(session, options), turns, reply, results)


async def openai_responses(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """A loop of one's own over responses."""

    def reply(turn: int, calls: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
        made = [
            {"type": "function_call", "call_id": f"{turn}-{n}", "name": name, "arguments": _json(given)}
            for n, (name, given) in enumerate(calls)
        ]
        return [{"type": "reasoning", "summary": []}, *made]

    def results(added: list[dict[str, Any]]) -> list[Result]:
        return [_of_items(item["output"]) for item in added]

    return await _looped(raw.OpenAIResponsesTools(session, options), turns, reply, results)


async def anthropic(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """A loop of one's own over Anthropic's messages."""

    def reply(turn: int, calls: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        made = [
            {"type": "tool_use", "id": f"{turn}-{n}", "name": name, "input": given}
            for n, (name, given) in enumerate(calls)
        ]
        return {"role": "assistant", "content": [{"type": "text", "text": "hm"}, *made]}

    def results(added: list[dict[str, Any]]) -> list[Result]:
        return [_of_block(block) for message in added for block in message["content"]]

    return await _looped(raw.AnthropicTools(session, options), turns, reply, results)


async def anthropic_threads(session: Session, turns: Turns, options: AdapterOptions | None = None) -> list[Seen]:
    """The same in a thread."""
    tools = raw.SyncAnthropicTools(in_threads(session), options)
    seen: list[Seen] = []
    results: list[Result] = []
    for calls in (*turns, ()):
        offer = await asyncio.to_thread(tools.offer)
        seen.append(Seen(_functions(offer.tools), (offer.tool_choice or {}).get("name", ""), offer.prompt, results))
        made = [
            {"type": "tool_use", "id": f"{len(seen)}-{n}", "name": name, "input": given}
            for n, (name, given) in enumerate(calls)
        ]
        added = await asyncio.to_thread(tools.answer, made)
        results = [_of_block(block) for message in added for block in message["content"]]
    return seen


PLAYERS: tuple[Player, ...] = (
    openai_agents_sdk,
    langchain_agent,
    langchain_threads,
    langgraph_graph,
    pydantic_ai_agent,
    openai_chat,
    openai_responses,
    anthropic,
    anthropic_threads,
)


async def _looped(
    tools: Any, turns: Turns, reply: Callable[..., Any], results_of: Callable[[list[dict[str, Any]]], list[Result]]
) -> list[Seen]:
    seen: list[Seen] = []
    results: list[Result] = []
    for calls in (*turns, ()):
        offer = await tools.offer()
        choice = offer.tool_choice or {}
        required = choice.get("name") or choice.get("function", {}).get("name", "")
        seen.append(Seen(_functions(offer.tools), required, offer.prompt, results))
        assert set(offer.request) <= {"tools", "tool_choice"}
        results = results_of(await tools.answer(reply(len(seen), calls)))
    return seen


def _json(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _functions(tools: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    found = {}
    for tool in tools:
        function = tool.get("function", tool)
        schema = function.get("parameters", function.get("input_schema"))
        found[function["name"]] = (function["description"], schema)
    return found


def _of_items(output: Any) -> Result:
    """What an item of the responses API holds."""
    if isinstance(output, str):
        return Result(output)
    texts = [part["text"] for part in output if part["type"] == "input_text"]
    pictures = [part["image_url"].partition("base64,")[2] for part in output if part["type"] == "input_image"]
    return Result("\n".join(texts), pictures=pictures)


def _of_message(message: ToolMessage) -> Result:
    content = message.content
    is_error = message.status == "error"
    if isinstance(content, str):
        return Result(content, is_error)
    parts = [part for part in content if isinstance(part, dict)]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return Result("\n".join(texts), is_error, [part["base64"] for part in parts if part["type"] == "image"])


def _of_part(part: ToolReturnPart) -> Result:
    is_error = part.outcome == "failed"
    if isinstance(part.content, str):
        return Result(part.content, is_error)
    assert isinstance(part.content, list)
    texts = [one for one in part.content if isinstance(one, str)]
    pictures = [b64encode(one.data).decode() for one in part.content if isinstance(one, BinaryContent)]
    return Result("\n".join(texts), is_error, pictures)


def _of_block(block: Mapping[str, Any]) -> Result:
    is_error = block.get("is_error", False)
    if isinstance(block["content"], str):
        return Result(block["content"], is_error)
    texts = [part["text"] for part in block["content"] if part["type"] == "text"]
    pictures = [part["source"]["data"] for part in block["content"] if part["type"] == "image"]
    return Result("\n".join(texts), is_error, pictures)
