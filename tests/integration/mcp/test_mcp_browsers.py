"""Pages in browsers: what a browser is told before it lets one ask, and for whose pages alone (MCP-1, SEC-7)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_bench import McpBench, mcp_bench
from test_mcp_http_door import ACCEPT, MODERN, calling, initialize

OURS, LOCAL = "https://chat.example.com", "http://localhost:6274"
OTHERS = ("https://evil.example", "null", "http://localhost.evil.example", "https://chat.example.com.evil.example")
WANTED = "authorization, content-type, mcp-protocol-version, mcp-session-id"


@pytest.fixture
async def browsed(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, mcp={"origins": (OURS,)}) as made:
        yield made


def preflight(origin: str, **more: str) -> dict[str, str]:
    """What a browser sends before a page's request."""
    asked = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": WANTED}
    return {**asked, **more}


@pytest.mark.req("MCP-1", "SEC-7")
@pytest.mark.parametrize("origin", [OURS, LOCAL])
async def test_a_page_that_may_use_it_shakes_hands_calls_and_ends_its_session(browsed: McpBench, origin: str) -> None:
    async with browsed.http("") as browser, browsed.http() as page:
        del browser.headers["authorization"]  # a browser asks without any
        told = await browser.options(browsed.url, headers=preflight(origin))
        begun = await page.post(browsed.url, json=initialize(), headers={**ACCEPT, "origin": origin})
        session = {"origin": origin, "mcp-session-id": begun.headers["mcp-session-id"]}
        done = await page.post(browsed.url, json=calling("echo", {"text": "x"}), headers={**ACCEPT, **session})
        async with page.stream("GET", browsed.url, headers={**ACCEPT, **session}) as stream:
            read_too = stream.headers
        ended = await page.delete(browsed.url, headers=session)

    assert (told.status_code, told.content) == (204, b"")
    assert told.headers["access-control-allow-origin"] == origin
    sent = {one.strip().lower() for one in told.headers["access-control-allow-headers"].split(",")}
    assert {*WANTED.split(", "), "mcp-method", "mcp-name", "last-event-id", "interlock-session", "traceparent"} <= sent
    assert {one.strip() for one in told.headers["access-control-allow-methods"].split(",")} == {"GET", "POST", "DELETE"}
    for headers in (begun.headers, done.headers, read_too, ended.headers):
        assert headers.get_list("access-control-allow-origin") == [origin]
        assert "Mcp-Session-Id" in headers["access-control-expose-headers"]
        assert headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in headers
    assert "Origin" in told.headers["vary"]
    assert "access-control-allow-credentials" not in told.headers
    assert done.json()["result"]["isError"] is False


@pytest.mark.req("MCP-1", "SEC-7")
async def test_a_page_reads_why_it_was_refused(browsed: McpBench) -> None:
    async with browsed.http("") as page:
        del page.headers["authorization"]
        for headers in (ACCEPT, {**ACCEPT, **MODERN}):
            answer = await page.post(browsed.url, json=initialize(), headers={**headers, "origin": OURS})
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, OURS)
            assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]


@pytest.mark.req("SEC-7")
@pytest.mark.parametrize("origin", OTHERS)
async def test_other_pages_are_told_nothing(browsed: McpBench, origin: str) -> None:
    async with browsed.http() as page:
        answers = [
            await page.options(browsed.url, headers=preflight(origin)),
            await page.post(browsed.url, json=initialize(), headers={**ACCEPT, "origin": origin}),
        ]
    for answer in answers:
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.req("SEC-7")
async def test_only_what_is_a_preflight_for_this_host_and_place_is_answered_as_one(browsed: McpBench) -> None:
    async with browsed.http() as page:
        rebound = await page.options(browsed.url, headers=preflight(OURS, host="evil.example"))
        elsewhere = await page.options(f"http://{browsed.address}/other", headers=preflight(OURS))
        none = await page.options(browsed.url, headers={"origin": OURS})
        plain = await page.post(browsed.url, json=initialize(), headers=ACCEPT)
    assert [one.status_code for one in (rebound, elsewhere)] == [403, 404]
    for answer in (rebound, elsewhere, none, plain):
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.req("MCP-1")
async def test_arguments_that_a_schema_wants_in_headers_may_be_sent_and_nothing_else_is_echoed(
    browsed: McpBench,
) -> None:
    async with browsed.http() as page:
        wanted = preflight(OURS, **{"access-control-request-headers": "mcp-param-region, x-evil, mcp-param-"})
        told = (await page.options(browsed.url, headers=wanted)).headers["access-control-allow-headers"]
    assert told.endswith(", mcp-param-region")
    assert "evil" not in told
