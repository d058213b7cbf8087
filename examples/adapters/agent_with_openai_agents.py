"""An agent of the OpenAI Agents SDK (`pip install 'interlock-sdk[openai-agents]'`). It needs a gateway that serves."""

import asyncio

from agents import RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call
from interlock import Gateway
from interlock.adapters import AdapterOptions
from interlock.adapters.openai_agents import GatewayAgent

SCRIPTED = ScriptedModel(
    [
        [function_call("read", {"path": "README.md"}, call_id="1")],
        [function_call("write", {"path": "plan.md", "content": "Water the plants.\n"}, call_id="2")],
        [function_call("resolve", {"action": "apply", "reason": "that is the plan"}, call_id="3")],
        [assistant_message("The plan is written.")],
    ]
)
MODEL = SCRIPTED  # a real one: MODEL = "gpt-5", and OPENAI_API_KEY in the environment


async def main() -> None:
    """Let the agent write a plan, and print what its model read."""
    options = AdapterOptions(on_result=lambda result: print(f"[{result.status}] {result.for_model}\n"))
    async with Gateway() as gateway, await gateway.open_session(intent="write a plan") as session:
        agent = GatewayAgent(
            name="planner", instructions="You plan the garden.", model=MODEL, session=session, options=options
        )
        # No trace goes to the model's vendor.
        run = await Runner.run(agent, "Write a plan.", run_config=RunConfig(tracing_disabled=True))
        print(run.final_output)


asyncio.run(main())
