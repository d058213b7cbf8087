"""`python -m interlock_gateway.demo`: play the demonstration."""

import asyncio
import sys
import tempfile
from pathlib import Path

from interlock import Gateway, Session

from interlock_gateway.demo.agent import Agent
from interlock_gateway.demo.scenes import Scenes
from interlock_gateway.demo.screen import Screen
from interlock_gateway.demo.second_act import SecondAct, digest
from interlock_gateway.demo.stage import START_S, Stage, StageError, staged

POLL_S = 0.05


async def play(directory: Path) -> None:
    """Play it in `directory`, which is emptied first."""
    screen = Screen()
    screen.title("Interlock: an agent, its tools, and a gateway between them")
    screen.say(
        "Three processes have been started: a toolbox that can read, write and run things in a copy of this product's "
        "own sources, a provider that deploys, and the gateway. The agent talks to the gateway alone. Rego policies "
        "decide about each call."
    )
    with staged(directory) as stage:
        await play_on(stage, screen)
    print()
    screen.say(
        "That is the product: the same agent and the same tools, with somebody in between who reads before acting."
    )


async def play_on(stage: Stage, screen: Screen) -> None:
    """Both acts, on a stage that is set, in a session of their own. What they do is undone at the end."""
    async with Gateway(stage.agent_address) as gateway:
        session = await gateway.open_session(intent="tidy up the notes")
        await _tools_are_there(session)
        agent = Agent(session, screen)
        scenes = Scenes(stage, agent, screen)
        as_it_was = digest(stage.workspace)
        await scenes.play()
        await SecondAct(stage, agent, screen).play(as_it_was)
        await scenes.end()


async def _tools_are_there(session: Session) -> None:
    """Wait until the gateway has met both providers, which start at the same time."""
    try:
        async with asyncio.timeout(START_S):
            while not {"bash", "deploy"} <= {listed.name for listed in (await session.tools()).tools}:  # noqa: ASYNC110 - the gateway announces no tools
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise StageError("the gateway did not find its providers") from None


def main() -> int:
    """Play it; 0 when every scene was played."""
    try:
        with tempfile.TemporaryDirectory(prefix="interlock-demo-") as directory:
            asyncio.run(play(Path(directory) / "stage"))
    except StageError as error:
        print(f"the demonstration could not be set up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
