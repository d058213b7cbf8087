"""An agent of Pydantic AI (`pip install 'interlock-sdk[pydantic-ai]'`). It needs a gateway that serves."""

import asyncio

from interlock import Gateway
from interlock.adapters import AdapterOptions
from interlock.adapters.pydantic_ai import GatewayTools
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

SCRIPT: list[ToolCallPart | TextPart] = [
    ToolCallPart("read", {"path": "README.md"}),
    ToolCallPart("write", {"path": "plan.md", "content": "Water the plants.\n"}),
    ToolCallPart("resolve", {"action": "apply", "reason": "that is the plan"}),
    TextPart("The plan is written."),
]


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Say the next line."""
    del info
    return ModelResponse(parts=[SCRIPT[len(messages) // 2]])


MODEL = FunctionModel(scripted)  # a real one: MODEL = "openai:gpt-5", with pydantic-ai-slim[openai] and a key


async def main() -> None:
    """Let the agent write a plan, and print what its model read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    agent = Agent(MODEL, instructions="You plan the garden.")
    async with Gateway() as gateway, await gateway.open_session(intent="write a plan") as session:
        run = await agent.run("Write a plan.", capabilities=[GatewayTools(session, options)])
        print(run.output)


asyncio.run(main())
