"""A graph of LangGraph (`pip install 'interlock-sdk[langgraph]'`), in threads. It needs a gateway that serves."""

from typing import Any

from interlock import SyncGateway
from interlock.adapters import AdapterOptions
from interlock.adapters.langgraph import GatewayTools
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall
from langgraph.graph import END, START, MessagesState, StateGraph

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


MODEL = Scripted(responses=SCRIPT)  # a real one: MODEL = ChatAnthropic(model="claude-sonnet-4-5")


def main() -> None:
    """Let the graph write a plan, and print what its model read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    with SyncGateway() as gateway, gateway.open_session(intent="write a plan") as session:
        tools = GatewayTools(session, options)

        def think(state: MessagesState) -> dict[str, Any]:
            offer = tools.offer()
            model = MODEL.bind_tools(offer.tools, tool_choice=offer.tool_choice)
            return {"messages": [model.invoke([SystemMessage(offer.prompt), *state["messages"]])]}

        def after(state: MessagesState) -> str:
            last = state["messages"][-1]
            return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", tools.node())
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", after, ["tools", END])
        graph.add_edge("tools", "think")
        run = graph.compile().invoke({"messages": [HumanMessage("Write a plan.")]})
        print(run["messages"][-1].content)


main()
