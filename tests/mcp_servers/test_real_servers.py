"""MCP servers that others wrote: what they answer behind the gateway is what they answer without (CON-2)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import playing
import pytest
from local_site import local_site
from mcp_gateway import gateway
from playing import Answer
from plays import Play, fetching, plays
from waiting import eventually_so

OURS = {"resolve", "read_artifact", "search_artifact"}
REFUSED_HERE = re.compile(r"The arguments of (?P<tool>\S+) are not valid:\n")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with local_site() as address:
        yield address


@pytest.mark.req("CON-2", "MCP-3")
@pytest.mark.parametrize("name", ["everything", "fetch", "filesystem", "git", "memory", "time"])
async def test_a_real_server_answers_behind_the_gateway_what_it_answers_without(
    name: str, site: str, tmp_path: Path
) -> None:
    play = fetching(site) if name == "fetch" else plays()[name]
    at = tmp_path / "stage"
    with playing.stage(play, at):
        async with playing.direct(play, at) as client:
            tools, answers = await playing.tools(client), await playing.played(play, at, client)
    assert {answer.tool for answer in answers} >= set(tools), "every tool is called"
    with playing.stage(play, at):
        async with gateway(tmp_path, _upstream(play, at)) as url, playing.client(url) as client:
            await eventually_so(lambda: _has(client, set(tools)))
            seen, behind = await playing.tools(client), await playing.played(play, at, client)
    assert seen.keys() == tools.keys() | OURS
    assert {tool: seen[tool] for tool in tools} == tools
    for direct, through in zip(answers, behind, strict=True):
        assert _same(direct, through, tools), f"{direct}\nis behind the gateway\n{through}"


def _upstream(play: Play, at: Path) -> dict[str, Any]:
    environment = playing.environment(play, at)
    return {"command": play.command(at), "environment": environment, "allow": ["sampling", "elicitation"]}


async def _has(client: Any, names: set[str]) -> bool:
    return names <= set(await playing.tools(client))


def _same(direct: Answer, through: Answer, tools: dict[str, Any]) -> bool:
    """Whether they are equal, or an error in both where the gateway answers before the server is asked.

    That is so for arguments that do not fit the tool's own schema (PIPE-4), and for tools that there are not.
    """
    if direct == through:
        return True
    if not (_is_error(direct) and _is_error(through)):
        return False
    words = through.result["content"][0]["text"] if "content" in through.result else ""
    refused = REFUSED_HERE.match(words)
    return direct.tool not in tools or (refused is not None and refused["tool"] == direct.tool)


def _is_error(answer: Answer) -> bool:
    return bool(answer.result.get("isError") or "code" in answer.result)
