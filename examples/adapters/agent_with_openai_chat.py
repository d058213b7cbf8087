"""A loop of one's own over OpenAI's chat completions, in dictionaries; no framework. It needs a gateway that serves."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from interlock import Gateway
from interlock.adapters import AdapterOptions
from interlock.adapters.raw import OpenAIChatTools


def scripted() -> Iterator[dict[str, Any]]:
    """A model's messages."""
    plan = {"path": "plan.md", "content": "Water the plants.\n"}
    applied = {"action": "apply", "reason": "that is the plan"}
    for name, arguments in (("read", {"path": "README.md"}), ("write", plan), ("resolve", applied)):
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "assistant", "content": "The plan is written."}


SCRIPT = scripted()


async def model(**request: Any) -> dict[str, Any]:
    """What the model says to a request with `messages`, `tools` and `tool_choice`.

    A real one: `reply = await AsyncOpenAI().chat.completions.create(**request, model="gpt-5")`, and
    `return reply.choices[0].message.model_dump(exclude_none=True)`.
    """
    del request
    return next(SCRIPT)


async def main() -> None:
    """Let the model write a plan, and print what it read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Write a plan."}]
    async with Gateway() as gateway, await gateway.open_session(intent="write a plan") as session:
        tools = OpenAIChatTools(session, options)
        while True:
            offer = await tools.offer()
            reply = await model(messages=[{"role": "system", "content": offer.prompt}, *messages], **offer.request)
            results = await tools.answer(reply)
            if not results:
                break
            messages += [reply, *results]
    print(reply["content"])


asyncio.run(main())
