"""MCP servers that die, hang, flood, lie or send too much: each harms itself alone (MCP-2)."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from gateway_bench import config_in
from interlock import Gateway as Client
from interlock_gateway.app import running
from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError, ProviderFailedError
from interlock_gateway.providers.mcp import stdio_link
from upstream_bench import HERE, call, crooked_config, described, pids_of_group, provider_of
from waiting import eventually, eventually_blocking


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("silent", OutcomeUnknownError, "did not answer in time"),
        ("dies", OutcomeUnknownError, "was lost while the call ran"),
        ("huge", OutcomeUnknownError, "it sent a message larger than 1048576 bytes"),
        ("malformed", OutcomeUnknownError, "returned a result that cannot be read"),
        ("neither", OutcomeUnknownError, "neither a result nor an error"),
        ("floods", OutcomeUnknownError, "did not answer in time"),
    ],
)
@pytest.mark.req("MCP-2", "PIPE-7")
async def test_a_result_that_never_comes_is_an_unknown_outcome(kind: str, error: type[Exception], words: str) -> None:
    async with described(provider_of(crooked_config(kind))) as provider:
        with pytest.raises(error, match=words):
            await provider.execute(call("echo", deadline_s=0.5))


@pytest.mark.parametrize("kind", ["garbage", "nan"])
@pytest.mark.req("MCP-2")
async def test_what_is_no_message_is_logged_and_passed_over(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with described(provider_of(crooked_config(kind))) as provider:
        outcome = await provider.execute(call("echo"))
        assert outcome.content[0].text == "hello"  # type: ignore[union-attr]  # it is text
    assert any("no message" in record.message for record in caplog.records)


@pytest.mark.req("MCP-2")
async def test_a_server_that_cannot_be_asked_before_the_handshake_is_started_again_without() -> None:
    provider = provider_of(crooked_config("old"))
    with pytest.raises(ProviderDownError, match="exit code 1"):
        await provider.describe(10)
    async with described(provider):
        assert provider.upstream is not None
        assert provider.upstream.version == "2024-11-05"
        assert not (await provider.execute(call("echo"))).is_error


@pytest.mark.req("MCP-2")
async def test_ten_thousand_tools_are_listed_and_doubtful_ones_left_out() -> None:
    async with described(provider_of(crooked_config("many"), most=8 * 1024 * 1024)) as provider:
        assert len((await provider.describe(20)).tools) == 10_000
    provider = provider_of(crooked_config("twice"))
    async with described(provider):
        found = await provider.describe(10)
        assert [one.name for one in found.tools] == ["echo", "echo", "bad name"]
        assert found.problems == ("None of up is refused: it has no name",)


@pytest.mark.parametrize("more", [("again",), ()])
@pytest.mark.req("MCP-2")
async def test_a_list_of_tools_without_end_is_given_up(more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock_gateway.providers.mcp import listing

    monkeypatch.setattr(listing, "MAX_PAGES", 20)
    provider = provider_of(crooked_config("endless", *more))
    try:
        with pytest.raises(ProviderFailedError, match="does not come to the end"):
            await provider.describe(10)
    finally:
        await provider.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (crooked_config("fails"), "exit code 5"),
        (McpUpstreamConfig(command=("/no/such/program",)), "exit code 127"),
        (McpUpstreamConfig(command=("no-such-program",)), "there is no program no-such-program in its PATH"),
        (McpUpstreamConfig(command=("true",), working_directory="/no/such/place"), "cannot be started"),
        (McpUpstreamConfig(url="http://127.0.0.1:1/mcp"), "cannot be reached: connecting failed: "),
        (crooked_config("mute"), "does not answer"),
    ],
)
@pytest.mark.req("MCP-2")
async def test_a_server_that_cannot_be_had_says_why(config: McpUpstreamConfig, words: str) -> None:
    provider = provider_of(config)
    try:
        with pytest.raises(ProviderDownError, match=words):
            await provider.describe(1.0 if words == "does not answer" else 10.0)
    finally:
        await provider.close()


@pytest.mark.req("MCP-2")
async def test_what_a_server_writes_to_its_stderr_is_logged_bounded_and_without_its_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    line = "'the key is', os.environ['KEY'], 'x' * (9000 if n < 9 else 9)"
    script = f"import os, sys; [print({line}, file=sys.stderr) for n in range(900)]"
    config = McpUpstreamConfig(command=(sys.executable, "-c", script), environment={"KEY": "hunter2hunter2"})
    provider = provider_of(config)
    with pytest.raises(ProviderDownError):
        await provider.describe(10)
    await provider.close()
    records = [(record.message, record.__dict__) for record in caplog.records]
    lines = [fields["text"] for message, fields in records if "stderr" in message]
    assert 0 < len(lines) <= 250
    assert all(len(line) <= stdio_link.MAX_LINE for line in lines)
    assert "the key is [redacted:environment]" in lines[0]
    assert "hunter2" not in caplog.text + repr(records)
    dropped = sum(fields["lost"] for message, fields in records if "not logged" in message)
    assert dropped + len(lines) == 900


@pytest.mark.req("MCP-2")
async def test_a_server_ends_with_all_that_it_started_when_its_provider_is_closed() -> None:
    async with described(provider_of(crooked_config("parent"))) as provider:
        leader = cast("Any", provider)._connection._link._child._transport.get_pid()
        assert len(pids_of_group(leader)) == 3
    await eventually(lambda: not pids_of_group(leader))


@pytest.mark.req("MCP-2", "SEC-2")
async def test_a_server_whose_list_takes_long_is_not_asked_for_it_all_the_time_and_missed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from interlock_gateway.providers.mcp import provider as providers

    monkeypatch.setattr(providers, "LISTING_SHARE", 1e9)
    async with described(provider_of(crooked_config("good"))) as provider:
        reached: Any = provider
        assert reached._rest_s == providers.LONGEST_REST_S
        reached._notice("notifications/tools/list_changed", {}, None)
        asking = asyncio.create_task(provider.until_lost())
        await asyncio.sleep(0)
        await reached._connection.close()
        assert not await asyncio.wait_for(asking, 5)


HOLDER = """
import asyncio, sys
sys.path[:0] = sys.argv[1:3]
from upstream_bench import crooked_config, provider_of
async def main():
    provider = provider_of(crooked_config("parent"))
    await provider.describe(20)
    print(provider._connection._link._child._transport.get_pid(), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.req("MCP-2")
def test_a_server_ends_with_all_that_it_started_when_the_gateway_is_killed() -> None:
    command = [sys.executable, "-c", HOLDER, str(HERE), str(HERE.parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as gateway:
        assert gateway.stdout is not None
        leader = int(gateway.stdout.readline())
        assert len(pids_of_group(leader)) == 3
        gateway.kill()
    eventually_blocking(lambda: not pids_of_group(leader))


@pytest.mark.req("MCP-2", "TOOL-5")
async def test_a_bad_server_hurts_no_other_and_comes_back_by_itself(socket_directory: Path) -> None:
    kinds = ("good", "dies", "floods", "fails", "mute", "huge")
    providers = tuple(
        ProviderConfig(name=kind, mcp=crooked_config(kind), prefix=f"{kind}_", trust="declared") for kind in kinds
    )
    async with running(config_in(socket_directory, providers=providers)) as gateway:
        connections = {one.spec.name: one for one in gateway.rooms.directory.connections()}
        await eventually(lambda: all(connections[kind].connected_since for kind in ("good", "dies", "floods", "huge")))
        async with Client(gateway.endpoints.agents[0]) as client:
            session = client.session()
            bad = [session.call(f"{kind}_echo", {}, timeout=3.0) for kind in ("dies", "floods", "huge")]
            under_way = asyncio.gather(*bad, return_exceptions=True)
            other = client.session()
            for _ in range(20):
                assert (await other.call("good_echo", {})).text == "hello"
            await under_way
            await eventually(lambda: connections["fails"].last_error != "")
            assert "exit code 5" in connections["fails"].last_error
            # It is started again, and its tools are back in the list.
            await eventually(lambda: connections["dies"].connected_since is not None)
            names = {tool.name for tool in (await session.tools()).tools}
            assert {"good_echo", "dies_echo"} <= names
            assert not {"fails_echo", "mute_echo"} & names
    assert os.getpid()


@pytest.mark.req("MCP-2")
async def test_a_server_that_never_stays_is_started_less_and_less_often() -> None:
    provider: Any = provider_of(crooked_config("dies"))
    waits: list[float] = []
    for _ in range(4):
        began = asyncio.get_running_loop().time()
        await provider.describe(20)
        waits.append(asyncio.get_running_loop().time() - began)
        provider.mark_described()
        with pytest.raises(OutcomeUnknownError):
            await provider.execute(call("echo", deadline_s=5.0))
    await provider.close()
    assert provider._short_lives == 3
    assert waits[3] > 0.8
