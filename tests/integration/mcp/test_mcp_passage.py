"""Resources, prompts and completions of MCP servers, through the gateway (MCP-3)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from interlock_gateway.audit.read import read_records
from interlock_gateway.config import PolicyConfig, ProviderConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from mcp import MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_bench import McpBench, mcp_bench
from mcp_types import (
    GetPromptResult,
    PromptReference,
    ReadResourceResult,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from passing_servers import docs_server, in_front_of, served
from waiting import eventually

MODES = ("legacy", "2026-07-28")


def words(result: ReadResourceResult) -> str:
    """The text of a resource."""
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    return content.text


def said_in(prompt: GetPromptResult) -> str:
    """The text of a prompt of one message."""
    content = prompt.messages[0].content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture
async def passing(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with in_front_of(socket_directory, docs_server("docs"), docs_server("wiki")) as at:
        yield at


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize("mode", MODES)
async def test_the_lists_of_all_servers_come_together_and_what_two_claim_is_the_firsts(
    passing: McpBench, mode: str
) -> None:
    async with passing.over_http(mode) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
        shared = await client.read_resource("shared://page")

    assert sorted(str(one.uri) for one in resources) == [
        "docs://page",
        "docs://secret",
        "shared://page",
        "wiki://page",
        "wiki://secret",
    ]
    assert {one.title for one in resources if str(one.uri) == "docs://page"} == {"A page"}
    assert "docs://users/{user}/profile" in {one.uri_template for one in templates}
    assert [one.name for one in prompts] == ["greet"]
    assert words(shared) == "shared by docs"


@pytest.mark.req("MCP-3", "PIPE-1")
@pytest.mark.parametrize("mode", MODES)
async def test_a_resource_is_read_by_a_call_that_is_decided_masked_and_recorded(passing: McpBench, mode: str) -> None:
    async with passing.over_http(mode) as client:
        page = await client.read_resource("wiki://page")
        profile = await client.read_resource("docs://users/ada/profile")
        secret = await client.read_resource("docs://secret")

    assert (words(page), page.contents[0].mime_type) == ("the page of wiki", "text/plain")
    assert words(profile) == "profile of ada"
    assert "AKIAIOSFODNN7EXAMPLE" not in words(secret)
    assert page.meta is not None
    assert page.meta["dev.interlock/decision"]["verdict"] == "allow"
    await eventually(lambda: len(_tools(passing)) == 3)
    assert _tools(passing) == ["wiki/resources/read", "docs/resources/read", "docs/resources/read"]


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize("mode", MODES)
async def test_a_prompt_is_got_with_its_arguments(passing: McpBench, mode: str) -> None:
    async with passing.over_http(mode) as client:
        prompt = await client.get_prompt("greet", {"who": "Ada"})
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("unheard-of", {})

    assert said_in(prompt) == "greet Ada for docs"
    assert "unheard-of" in caught.value.error.message


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_suggested_for_an_argument_is_the_servers(passing: McpBench, mode: str) -> None:
    async with passing.over_http(mode) as client:
        prompt = await client.complete(PromptReference(name="greet"), {"name": "who", "value": "A"})
        template = ResourceTemplateReference(uri="wiki://users/{user}/profile")
        user = await client.complete(template, {"name": "user", "value": "B"})

    assert prompt.completion.values == ["Aa", "Ab"]
    assert user.completion.values == ["Ba", "Bb"]


@pytest.mark.req("MCP-3")
async def test_a_resource_that_is_nobodys_is_not_found_and_the_servers_own_error_comes_back(passing: McpBench) -> None:
    async with passing.over_http() as client:
        with pytest.raises(MCPError) as nobodys:
            await client.read_resource("other://page")
        with pytest.raises(MCPError) as unfit:
            await client.get_prompt("greet", {})

    assert nobodys.value.error.code == -32002
    assert unfit.value.error.code in {-32603, -32602}


@pytest.mark.req("MCP-3", "SEC-5")
async def test_what_a_server_listed_is_nobody_elses_while_it_is_away(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.transport.mcp.shelves.FRESH_S", 0.0)
    away = ("shared://page", "docs://page", "docs://users/ada/profile")
    async with AsyncExitStack() as stack:
        docs, wiki = [await stack.enter_async_context(AsyncExitStack()) for _ in range(2)]
        urls = [await docs.enter_async_context(served(docs_server("docs")))]
        urls.append(await wiki.enter_async_context(served(docs_server("wiki"))))
        providers = tuple(
            ProviderConfig(name=name, mcp=McpUpstreamConfig(url=url), trust="declared")
            for name, url in zip(("docs", "wiki"), urls, strict=True)
        )
        at = await stack.enter_async_context(mcp_bench(socket_directory, providers=providers))
        await at.at.gateway.providers_settled(10.0)
        client = await stack.enter_async_context(at.over_http())
        assert [words(await client.read_resource(uri)) for uri in away[:1]] == ["shared by docs"]
        await client.list_resource_templates()
        await docs.aclose()
        listed = {str(one.uri) for one in (await client.list_resources()).resources}
        assert listed == {"wiki://page", "wiki://secret"}
        for uri in away:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == -32002
        assert words(await client.read_resource("wiki://page")) == "the page of wiki"


@pytest.mark.req("MCP-3", "TOOL-10")
async def test_what_passes_is_no_tool_in_any_list(passing: McpBench) -> None:
    async with passing.over_http() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}

    assert not any("/" in name for name in names)
    assert "ask" in names


@pytest.mark.req("MCP-3")
async def test_what_does_not_pass_by_configuration_is_not_there(socket_directory: Path) -> None:
    async with (
        in_front_of(socket_directory, docs_server(), mcp={"passes": ("prompts",)}, prefix="d_") as at,
        at.over_http() as client,
    ):
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource("docs://page")
        assert [one.name for one in (await client.list_prompts()).prompts] == ["d_greet"]
        assert said_in(await client.get_prompt("d_greet", {"who": "x"})) == "greet x for docs"
        with pytest.raises(MCPError):
            await client.complete(PromptReference(name="d_greet"), {"name": "who", "value": "A"})


@pytest.mark.req("MCP-3", "POL-4")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")
async def test_a_session_that_may_not_reach_a_server_any_more_sends_it_nothing_by_other_requests_either(
    socket_directory: Path, mode: str
) -> None:
    taint = {"by_tool": {"docs/resources/read": ["sensitive"]}, "both_reaches": "deny"}
    overlay = socket_directory / "overlay"
    overlay.mkdir()
    (overlay / "data.yaml").write_text(json.dumps({"settings": {"taint": taint}}))
    policy = PolicyConfig(overlays=(overlay,))
    async with (
        in_front_of(socket_directory, docs_server(), policy=policy) as at,
        at.over_http(mode) as client,
        asyncio.timeout(20),
    ):
        greet, mine = PromptReference(name="greet"), {"name": "who", "value": "A"}
        assert (await client.complete(greet, mine)).completion.values == ["Aa", "Ab"]
        await client.read_resource("docs://page")
        with pytest.raises(MCPError):
            await client.read_resource("docs://page")
        for ref in (greet, ResourceTemplateReference(uri="docs://users/{user}/profile")):
            with pytest.raises(MCPError) as caught:
                await client.complete(ref, {"name": "who", "value": "what is secret"})
            assert caught.value.error.data["reason"] == "DENIED"
        if mode == "legacy":
            with pytest.raises(MCPError, match=caught.value.error.message):
                await client.subscribe_resource("docs://what-is-secret")
        else:
            async with client.listen(resource_subscriptions=["docs://what-is-secret"]) as stream:
                assert not stream.honored.resource_subscriptions


def _tools(at: McpBench) -> list[str]:
    """The tools of the calls there are receipts of."""
    records = read_records(at.at.directory / "state" / "audit")
    return [str(one.record["tool"]) for one in records if one.kind == "receipt"]
