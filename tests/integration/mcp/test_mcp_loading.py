"""What MCP is made of is loaded when the first client comes; when that fails, with the next one anew (MCP-1)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from interlock_gateway.providers.mcp.loading import load
from interlock_gateway.transport.mcp import listening
from mcp_bench import mcp_bench
from test_mcp_http_door import ACCEPT, initialize
from test_mcp_socket import connected


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Loading fails as often as there are words in here."""
    words: list[str] = []

    def loading(*modules: str) -> None:
        if words:
            raise ImportError(words.pop())
        load(*modules)

    monkeypatch.setattr(listening, "load", loading)
    yield words
    assert not words


@pytest.mark.req("MCP-1")
async def test_over_http_who_comes_while_it_cannot_be_loaded_is_told_and_the_next_is_served(
    socket_directory: Path, failing: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with mcp_bench(socket_directory) as at, at.http() as http:
        failing.append("too many open files")
        first = await http.post(at.url, json=initialize(), headers=ACCEPT)
        then = await http.post(at.url, json=initialize(), headers=ACCEPT)
    assert (first.status_code, first.headers["retry-after"], then.status_code) == (503, "1", 200)
    assert "open files" not in first.text
    assert [one.message for one in caplog.records].count("MCP could not be loaded") == 1


@pytest.mark.req("MCP-1")
async def test_on_the_socket_the_connection_ends_and_the_next_is_served(
    socket_directory: Path, failing: list[str]
) -> None:
    async with mcp_bench(socket_directory) as at:
        failing.append("too many open files")
        async with connected(at) as line:
            assert await line.reader.read() == b""
        async with connected(at, "2025-11-25"):
            pass


@pytest.mark.req("MCP-1")
async def test_a_gateway_that_could_not_load_it_ends_as_any_other(socket_directory: Path, failing: list[str]) -> None:
    async with mcp_bench(socket_directory) as at, at.http() as http:
        failing.append("too many open files")
        assert (await http.post(at.url, json=initialize(), headers=ACCEPT)).status_code == 503
        assert at.at.gateway.rooms is not None
