"""A session keeps no more of the workspace than is configured now (REF-4)."""

from pathlib import Path

import pytest
from gateway_bench import bench


@pytest.mark.req("REF-4")
async def test_roots_that_were_narrowed_are_narrowed_for_sessions_that_are_open(socket_directory: Path) -> None:
    wide, narrow = socket_directory / "w", socket_directory / "w" / "n"
    narrow.mkdir(parents=True)
    async with bench(socket_directory, workspace_roots=(str(wide),)) as before:
        await before.agent.session("s").call("echo", {"text": "opens the session"})
    async with bench(socket_directory, workspace_roots=(str(narrow),)) as after:
        await after.agent.session("s").call("echo", {"text": "comes back"})
        live = after.gateway.rooms.parts.sessions.in_memory("s")
        assert live is not None
        assert live.session.roots == (str(narrow),)
    async with bench(socket_directory, workspace_roots=(str(socket_directory / "other"),)) as elsewhere:
        await elsewhere.agent.session("s").call("echo", {"text": "comes back again"})
        live = elsewhere.gateway.rooms.parts.sessions.in_memory("s")
        assert live is not None
        assert live.session.roots == ()
