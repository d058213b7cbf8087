"""Tools that a session is not shown until it asks (DEFER-1, DEFER-2), over a real gateway's sockets."""

from pathlib import Path
from typing import Any

import pytest
from gateway_bench import bench
from interlock import CallStatus
from interlock.errors import NotAuthorizedError, RequestError
from interlock.tools import ToolList
from interlock.v1 import tool_pb2
from interlock_gateway.config import DeferredConfig
from raw_provider import raw_bench, reading

FIND = ("activate_tools", "search_tools")
OWN = ("read_artifact", "search_artifact")


def numbered(count: int) -> list[tool_pb2.ToolDefinition]:
    return [reading(f"tool_{n:02}", description=f"Does thing number {n}.") for n in range(count)]


@pytest.fixture(autouse=True)
def _asked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers are asked what they have every few milliseconds."""
    monkeypatch.setattr("interlock_gateway.providers.directory.REFRESH_S", 0.02)


def of_provider(listed: ToolList) -> list[str]:
    return [one.name for one in listed.tools if one.provider != "interlock"]


def own(listed: ToolList) -> list[str]:
    return [one.name for one in listed.tools if one.provider == "interlock"]


@pytest.mark.req("DEFER-1")
@pytest.mark.parametrize("threshold", [15, 0, -3])
async def test_up_to_the_threshold_every_tool_is_listed_and_above_it_none(
    socket_directory: Path, threshold: int
) -> None:
    deferred = DeferredConfig(threshold=threshold)
    async with raw_bench(socket_directory, *numbered(15), deferred=deferred) as at:
        session = at.agent.session("s")
        listed = await session.tools()
        assert (len(of_provider(listed)), listed.deferred, own(listed)) == (15, 0, list(OWN))
        await at.told(*numbered(16))
        listed = await session.tools()
        assert (of_provider(listed), listed.deferred) == ([], 16)
        assert sorted(own(listed)) == sorted((*FIND, *OWN))
        await at.told(*numbered(15))
        assert len(of_provider(await session.tools())) == 15


@pytest.mark.req("DEFER-1")
async def test_always_loaded_tools_come_from_the_configuration_and_from_the_session(socket_directory: Path) -> None:
    tools = [*numbered(20), reading("spade", aliases=["shovel"])]
    deferred = DeferredConfig(always_loaded=("tool_03", "no_such_tool"))
    async with raw_bench(socket_directory, *tools, deferred=deferred) as at:
        mine = await at.agent.open_session(always_loaded_tools=["shovel", "tool_07"])
        assert of_provider(await mine.tools()) == ["spade", "tool_03", "tool_07"]
        assert of_provider(await at.agent.session("other").tools()) == ["tool_03"]
        for name in ("tool_03", "spade", "shovel"):
            assert (await mine.call(name, {})).text == "ran"


@pytest.mark.req("DEFER-1")
async def test_a_session_may_set_its_own_threshold(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(20), deferred=DeferredConfig(threshold=5)) as at:
        for asked, shown in ((20, 20), (19, 0), (0, 0), (-1, 0)):
            session = await at.agent.open_session(deferred_threshold=asked)
            listed = await session.tools()
            assert (len(of_provider(listed)), listed.deferred) == (shown, 20 - shown), asked
        await at.told(*numbered(15))
        default = await at.agent.open_session(deferred_threshold=0)
        assert len(of_provider(await default.tools())) == 15
        assert of_provider(await at.agent.session("s").tools()) == []


@pytest.mark.req("DEFER-1", "TOOL-10")
async def test_a_sessions_list_of_tools_counts_alone_and_is_never_widened(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(30), deferred=DeferredConfig(always_loaded=("tool_29",))) as at:
        few = await at.agent.open_session(tools=[f"tool_{n:02}" for n in range(15)])
        assert len(of_provider(await few.tools())) == 15
        many = await at.agent.open_session(tools=[f"tool_{n:02}" for n in range(16)], always_loaded_tools=["tool_20"])
        listed = await many.tools()
        assert (of_provider(listed), listed.deferred) == ([], 16)
        found = await many.search_tools("tool_20", max_results=100)
        assert sorted(hit.name for hit in found) == [f"tool_{n:02}" for n in range(16)]
        done = await many.activate_tools(["tool_00", "tool_20", "tool_29"])
        assert ([one.name for one in done.activated], done.unknown) == (["tool_00"], ("tool_20", "tool_29"))
        for hidden in ("tool_20", "tool_29"):
            denied = await many.call(hidden, {})
            assert denied.decision.reasons[0].code == "unknown_tool"


@pytest.mark.req("DEFER-2")
async def test_a_deferred_tool_is_refused_until_it_is_activated_and_the_refusal_says_how(
    socket_directory: Path,
) -> None:
    async with raw_bench(socket_directory, *numbered(20)) as at:
        session = at.agent.session("s")
        denied = await session.call("tool_01", {})
        assert (denied.status, denied.decision.reasons[0].code) == (CallStatus.DENIED, "tool_deferred")
        assert "SearchTools" in denied.text
        assert "search_tools" in denied.text
        assert (await session.evaluate("tool_01", {})).reasons[0].code == "tool_deferred"
        assert at.provider.ran == []
        done = await session.activate_tools(["tool_01", "tool_01", "nothing"])
        assert ([one.name for one in done.activated], done.unknown) == (["tool_01"], ("nothing",))
        assert (await session.call("tool_01", {})).text == "ran"
        listed = await session.tools()
        assert (of_provider(listed), listed.deferred) == (["tool_01"], 19)
        other = at.agent.session("other")
        assert (await other.call("tool_01", {})).status is CallStatus.DENIED
        report = await at.admin.session_report("s")
        assert [(one.label, one.count) for one in report.denials_by_reason] == [("tool_deferred", 1)]


@pytest.mark.req("DEFER-2")
async def test_activations_outlive_a_restart_and_end_with_their_session(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(20)) as at:
        session = at.agent.session("s")
        await session.activate_tools(["tool_01"])
        await session.activate_tools(["tool_02"])
    async with raw_bench(socket_directory, *numbered(20)) as at:
        session = at.agent.session("s")
        assert of_provider(await session.tools()) == ["tool_01", "tool_02"]
        assert (await session.call("tool_02", {})).text == "ran"
        await session.close()
        kept = await at.gateway.rooms.store.sessions.get_session("s")
        assert kept is not None
        assert kept.activated == ()
        with pytest.raises(RequestError) as closed:
            await session.activate_tools(["tool_03"])
        assert closed.value.reason == "SESSION_CLOSED"


@pytest.mark.req("DEFER-2")
async def test_what_another_replica_activated_counts_here_too(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(20)) as at:
        session = at.agent.session("s")
        assert (await session.call("tool_01", {})).status is CallStatus.DENIED
        # What the other replica writes; this one has the session in memory.
        await at.gateway.rooms.store.sessions.activate_tools("s", ["tool_01"])
        assert (await session.call("tool_01", {})).text == "ran"
        await at.gateway.rooms.store.sessions.activate_tools("s", ["tool_02"])
        assert "tool_02" not in [hit.name for hit in await session.search_tools("tool_02", max_results=100)]
        await session.activate_tools(["tool_03"])
        assert of_provider(await session.tools()) == ["tool_01", "tool_02", "tool_03"]


@pytest.mark.req("DEFER-2")
async def test_a_search_looks_at_names_hints_and_descriptions_best_first(socket_directory: Path) -> None:
    tools = [
        *numbered(15),
        reading("send_mail", description="Send a letter."),
        reading("mailbox_list", description="Lists what came in."),
        reading("archive", description="Put a mail away."),
        reading("notify", metadata=tool_pb2.ToolMetadata(read_only=True, search_hint="mail message ping")),
        reading("fetchURL", aliases=["download"], title="Fetch a page"),
    ]
    async with raw_bench(socket_directory, *tools, deferred=DeferredConfig(always_loaded=("notify",))) as at:
        session = at.agent.session("s")

        async def found(query: str, **options: Any) -> list[str]:
            return [hit.name for hit in await session.search_tools(query, **options)]

        assert await found("mail") == ["send_mail", "mailbox_list", "archive"]
        assert await found("send mail") == ["send_mail", "mailbox_list", "archive"]
        assert await found("SEND_MAIL") == ["send_mail", "mailbox_list", "archive"]
        assert await found("mails", max_results=1) == ["send_mail"]
        assert await found("url") == ["fetchURL"]
        assert await found("Download") == ["fetchURL"]
        assert await found("page") == ["fetchURL"]
        assert await found("nothing like it") == []
        assert len(await found("thing")) == 10
        assert len(await found("thing", max_results=100)) == 15
        assert await found("thing") == await found("thing")
        await session.activate_tools(["send_mail", "download"])
        assert await found("mail") == ["mailbox_list", "archive"]
        (hit,) = await session.search_tools("archive")
        assert (hit.description, hit.classification.effect) == ("Put a mail away.", "read_only")
        for query in ("", "  ", "x" * 1025):
            with pytest.raises(RequestError) as refused:
                await session.search_tools(query)
            assert refused.value.metadata == {"field": "query"}
        with pytest.raises(RequestError) as many:
            await session.activate_tools([f"t{n}" for n in range(101)])
        assert many.value.metadata == {"field": "names"}


@pytest.mark.req("DEFER-2")
async def test_an_agent_finds_and_activates_with_tools_of_its_own(socket_directory: Path) -> None:
    schema = b'{"type":"object","properties":{"to":{"type":"string"}}}'
    tools = [*numbered(15), reading("send_mail", description="Send a letter.", input_schema=schema)]
    async with raw_bench(socket_directory, *tools) as at:
        session = at.agent.session("s")
        found = await session.call("search_tools", {"query": "letter"})
        assert found.ok
        assert found.text.endswith("\n- send_mail: Send a letter.")
        assert (await session.call("search_tools", {"query": "zzz"})).text.startswith("No deferred tool matches")
        done = await session.call("activate_tools", {"names": ["send_mail", "no_such_tool"]})
        assert done.ok
        assert '"to"' in done.text
        assert "no tool named 'no_such_tool'" in done.text
        assert (await session.call("send_mail", {"to": "me"})).text == "ran"
        nothing = await session.call("activate_tools", {"names": ["no_such_tool"]})
        assert (nothing.status, nothing.is_error) == (CallStatus.COMPLETED, True)
        blank = await session.call("search_tools", {"query": " "})
        assert "query is not blank" in blank.text
        await session.call("activate_tools", {"names": [f"tool_{n:02}" for n in range(15)]})
        listed = await session.tools()
        assert (listed.deferred, own(listed)) == (0, list(OWN))


@pytest.mark.req("DEFER-1", "TOOL-8")
async def test_the_prompt_speaks_of_the_tools_that_are_shown_alone(socket_directory: Path) -> None:
    tools = [
        *numbered(15),
        reading("a", prompt_snippet="a: looks", prompt_guidelines=["Look with a."]),
        reading("b", prompt_snippet="b: looks", prompt_guidelines=["Look with b."]),
    ]
    async with raw_bench(socket_directory, *tools) as at:
        session = at.agent.session("s")
        before = (await session.tools()).prompt
        assert "search_tools: find tools" in before
        assert "looks" not in before
        await session.activate_tools(["b"])
        after = (await session.tools()).prompt
        assert "b: looks" in after
        assert "Look with b." in after
        assert "with a" not in after


@pytest.mark.req("DEFER-1", "PREV-3")
async def test_what_was_previewed_is_applied_though_its_tool_is_deferred_by_now(socket_directory: Path) -> None:
    async with bench(socket_directory, deferred=DeferredConfig(threshold=8)) as at:
        session = at.agent.session("s")
        assert (await session.call("replace_value", {"value": "new"})).status is CallStatus.PREVIEW
        at.gateway.rooms.parts.deferral._threshold = 7  # as when one more tool comes
        assert "resolve" in (await session.tools()).names
        assert (await session.call("replace_value", {"value": "x"})).decision.reasons[0].code == "tool_deferred"
        assert (await session.resolve("apply", "as previewed")).ok
        assert at.ledger.names() == ["replace_value"]


@pytest.mark.req("DEFER-1")
async def test_a_provider_that_is_away_for_a_moment_changes_nobodys_list(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(16)) as at:
        session = at.agent.session("s")
        at.gateway.rooms.parts.registry.set_away("raw")
        listed = await session.tools()
        assert (of_provider(listed), listed.deferred) == ([], 0)
        assert (await session.call("tool_01", {})).decision.reasons[0].code == "tool_deferred"


@pytest.mark.req("DEFER-1", "AUTH-2")
async def test_a_session_opened_again_with_another_deferral_is_refused(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, *numbered(3)) as at:
        terms: dict[str, Any] = {"session_id": "s", "always_loaded_tools": ["tool_01"], "deferred_threshold": 2}
        await at.agent.open_session(**terms)
        await at.agent.open_session(**terms)
        others: tuple[dict[str, Any], ...] = ({"always_loaded_tools": []}, {"deferred_threshold": 3})
        for other in others:
            with pytest.raises(RequestError) as refused:
                await at.agent.open_session(**{**terms, **other})
            assert not isinstance(refused.value, NotAuthorizedError)
            assert refused.value.reason == "SESSION_EXISTS"
