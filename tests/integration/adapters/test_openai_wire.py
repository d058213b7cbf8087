"""What frameworks send to OpenAI's APIs of the gateway's tools, through OpenAI's own client and a wire that answers."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import agents
import httpx2
import openai
import pytest
from interlock import Session
from interlock.adapters import openai_agents, pydantic_ai
from interlock.provider import Image, ToolResult
from interlock.testing import Allow, FakeGateway, Preview
from players import INSTRUCTIONS
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models import Model as PydanticModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

pytestmark = pytest.mark.req("SDK-2")
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
SAYS = [("fs_read", {"path": "a"}), ("edit", {}), ("resolve", {"action": "apply", "reason": "so"})]
Body: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Session, openai.AsyncOpenAI], Awaitable[str]]


def chat_reply(turn: int) -> Body:
    message: Body = {"role": "assistant", "content": "done"}
    if turn < len(SAYS):
        name, given = SAYS[turn]
        call = {"id": f"c{turn}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    finished = "tool_calls" if turn < len(SAYS) else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": finished}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def responses_reply(turn: int) -> Body:
    text = {"type": "output_text", "text": "done", "annotations": []}
    item: Body = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    if turn < len(SAYS):
        name, given = SAYS[turn]
        call = {"type": "function_call", "id": f"f{turn}", "call_id": f"c{turn}", "name": name}
        item = {**call, "arguments": json.dumps(given), "status": "completed"}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details}
    kept = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": []}
    return {**kept, "output": [item], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto"}


@asynccontextmanager
async def client(seen: list[Body]) -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's client, on a wire that keeps what is sent and says what it is told."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        seen.append(body)
        reply = responses_reply if "input" in body else chat_reply
        return httpx2.Response(200, json=reply(len(seen) - 1))

    http: Any = openai.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer))
    async with openai.AsyncOpenAI(api_key="none", http_client=http) as made:
        yield made


async def agents_sdk(session: Session, model: agents.Model) -> str:
    agent = openai_agents.GatewayAgent[None](name="a", instructions=INSTRUCTIONS, model=model, session=session)
    result = await agents.Runner.run(agent, "go", run_config=agents.RunConfig(tracing_disabled=True))
    return str(result.final_output)


async def pydantic(session: Session, model: PydanticModel) -> str:
    agent = PydanticAgent(model, instructions=INSTRUCTIONS)
    return str((await agent.run("go", capabilities=[pydantic_ai.GatewayTools(session)])).output)


RUNS: dict[str, Run] = {
    "agents-chat": lambda session, api: agents_sdk(session, agents.OpenAIChatCompletionsModel("m", api)),
    "agents-responses": lambda session, api: agents_sdk(session, agents.OpenAIResponsesModel("m", api)),
    "pydantic-chat": lambda session, api: pydantic(
        session, OpenAIChatModel("m", provider=OpenAIProvider(openai_client=api))
    ),
    "pydantic-responses": lambda session, api: pydantic(
        session, OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=api))
    ),
}


def choice_of(body: Body) -> str:
    """The name of the tool that a request asks for; empty when the model is free."""
    choice = body.get("tool_choice")
    return str(choice.get("name") or choice["function"]["name"]) if isinstance(choice, dict) else ""


@pytest.mark.parametrize("name", RUNS)
async def test_requests_name_tools_choices_and_results_as_the_api_wants_them(name: str) -> None:
    seen: list[Body] = []
    with FakeGateway() as fake:
        fake.on("fs.read", Allow(ToolResult(content=["a dot", Image(PICTURE)])))
        fake.on("edit", Preview("-a\n+b", Allow("edited")))
        async with fake.gateway() as gateway, client(seen) as api:
            assert await RUNS[name](gateway.session(), api) == "done"

    assert [call.tool for call in fake.ran] == ["fs.read", "resolve"]
    offered = [{tool.get("function", tool)["name"] for tool in body["tools"]} for body in seen]
    assert offered == [{"fs_read", "edit"}, {"fs_read", "edit"}, {"fs_read", "edit", "resolve"}, {"fs_read", "edit"}]
    assert [choice_of(body) for body in seen] == ["", "", "resolve", ""]
    assert all(tool.get("function", tool).get("strict", False) is False for tool in seen[0]["tools"])
    said = json.dumps(seen[-1].get("input") or seen[-1]["messages"])
    assert "a dot" in said
    assert "This is a preview." in said
    assert "edited" in said
