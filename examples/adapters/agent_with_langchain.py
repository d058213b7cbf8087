"""An agent of LangChain's `create_agent` (`pip install 'interlock-sdk[langchain]'`). It needs a gateway that serves."""

import asyncio
from typing import Any

from interlock import Gateway
from interlock.adapters import AdapterOptions
from interlock.adapters.langchain import GatewayMiddleware
from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

SCRIPT: list[BaseMessage] = [
    AIMessage("", tool_calls=[ToolCall(name="read", args={"path": "README.md"}, id="1")]),
    AIMessage(
        "", tool_calls=[ToolCall(name="write", args={"path": "plan.md", "content": "Water the plants.\n"}, id="2")]
    ),
    AIMessage(
        "", tool_calls=[ToolCall(name="resolve", args={"action": "apply", "reason": "that is the plan"}, id="3")]
    ),
    AIMessage("The plan is written."),
]


class Scripted(FakeMessagesListChatModel):
    """LangChain's own fake model knows no tools."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Take the tools, and say the next line all the same."""
        del tools
        return self


MODEL = Scripted(responses=SCRIPT)  # a real one: MODEL = "anthropic:claude-sonnet-4-5", with langchain-anthropic


async def main() -> None:
    """Let the agent write a plan, and print what its model read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    async with Gateway() as gateway, await gateway.open_session(intent="write a plan") as session:
        middleware = GatewayMiddleware(session, options)
        agent = create_agent(MODEL, system_prompt="You plan the garden.", middleware=[middleware])
        run = await agent.ainvoke({"messages": [HumanMessage("Write a plan.")]})
        print(run["messages"][-1].content)


asyncio.run(main())
