"""A provider whose one tool says of itself what it is told: `python changing_provider.py ADDRESS DESCRIPTION`."""

import asyncio
import sys

from interlock.provider import ToolServer, tool


async def main(address: str, description: str) -> None:
    """Serve until killed."""

    @tool(name="look_up", description=description, read_only=True)
    def look_up(word: str) -> str:
        return word

    async with ToolServer([look_up], address) as server:
        print("ready", flush=True)  # noqa: T201 -- whoever started it waits for this
        await server.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
