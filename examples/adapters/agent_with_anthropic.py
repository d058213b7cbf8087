"""A loop of one's own over Anthropic's messages, in dictionaries; no framework. It needs a gateway that serves."""

from collections.abc import Iterator
from typing import Any

from interlock import SyncGateway
from interlock.adapters import AdapterOptions
from interlock.adapters.raw import SyncAnthropicTools


def scripted() -> Iterator[list[dict[str, Any]]]:
    """The content of each of a model's messages."""
    yield [{"type": "tool_use", "id": "1", "name": "read", "input": {"path": "README.md"}}]
    plan = {"path": "plan.md", "content": "Water the plants.\n"}
    yield [{"type": "tool_use", "id": "2", "name": "write", "input": plan}]
    applied = {"action": "apply", "reason": "that is the plan"}
    yield [{"type": "tool_use", "id": "3", "name": "resolve", "input": applied}]
    yield [{"type": "text", "text": "The plan is written."}]


SCRIPT = scripted()


def model(**request: Any) -> list[dict[str, Any]]:
    """What the model says to a request with `system`, `messages`, `tools` and `tool_choice`."""
    del request
    return next(SCRIPT)  # a real one: anthropic.Anthropic().messages.create(**request, ...).model_dump()["content"]


def main() -> None:
    """Let the model write a plan, and print what it read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Write a plan."}]
    with SyncGateway() as gateway, gateway.open_session(intent="write a plan") as session:
        tools = SyncAnthropicTools(session, options)
        while True:
            offer = tools.offer()
            content = model(system=offer.prompt, messages=messages, **offer.request)
            results = tools.answer(content)
            if not results:
                break
            messages += [{"role": "assistant", "content": content}, *results]
    print(content[-1]["text"])


main()
