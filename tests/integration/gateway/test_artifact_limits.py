"""What agents are told when the store of artifacts is full, or has removed what they ask for (ART-4)."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from answering_tools import LINES, Answers, answering, uri_of
from gateway_bench import bench
from interlock import Gateway as Client
from interlock.errors import NotFoundError
from interlock_gateway.config import ArtifactsConfig, IdentityConfig, ServerConfig
from interlock_gateway.config_artifacts import RetentionConfig
from scraping import samples_in, scraped, value
from waiting import eventually_so

MONTH_S = 31 * 86_400.0
OTHER = "b" * 20_000


def limited(
    max_session_bytes: int = 1 << 30, max_total_bytes: int | None = None, max_principal_bytes: int = 1 << 30
) -> ArtifactsConfig:
    """Limits for a test, and sweeps that are due at once."""
    retention = RetentionConfig(every_s=0.05, max_total_bytes=max_total_bytes)
    return ArtifactsConfig(
        max_session_bytes=max_session_bytes, max_principal_bytes=max_principal_bytes, retention=retention
    )


@pytest.mark.req("ART-4")
async def test_an_artifact_that_expired_says_so_to_programs_and_to_models(socket_directory: Path) -> None:
    async with bench(socket_directory, tools=lambda _: answering(Answers()), artifacts=limited()) as at:
        session, other = at.agent.session("s"), at.agent.session("open")
        uri, kept = uri_of(session, LINES), uri_of(other, LINES)
        await session.call("head", {})
        await other.call("head", {})
        await session.close()
        at.clock.ahead_s += MONTH_S

        async def is_gone() -> bool:
            try:
                await session.stat_artifact(uri)
            except NotFoundError:
                return True
            return False

        await eventually_so(is_gone)
        asked: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: session.stat_artifact(uri),
            lambda: session.read_artifact(uri),
            lambda: session.search_artifact(uri, "line"),
        )
        for ask in asked:
            with pytest.raises(NotFoundError, match=r"this artifact has expired: it was removed on \d{4}-") as told:
                await ask()
            assert told.value.reason == "ARTIFACT_NOT_FOUND"
        assert (await other.read_artifact(kept)).text == LINES

        async def is_counted() -> bool:
            samples = samples_in(await scraped(at))
            removed = value(samples, "interlock_artifacts_removed_total", reason="age")
            return (removed, value(samples, "interlock_artifacts_stored")) == (1, 1)

        await eventually_so(is_counted)
        samples = samples_in(await scraped(at))
        assert value(samples, "interlock_artifact_removed_bytes_total", reason="age") == len(LINES.encode())
        assert value(samples, "interlock_artifact_stored_bytes") == len(LINES.encode())
        assert value(samples, "interlock_artifact_last_sweep_timestamp_seconds") >= MONTH_S
        assert value(samples, "interlock_artifact_sweeps_total", outcome="failed") == 0


@pytest.mark.req("ART-4", "RES-1")
async def test_a_session_that_has_all_it_may_gets_its_result_shortened_and_is_told_why(socket_directory: Path) -> None:
    config = limited(max_session_bytes=len(LINES.encode()) + 10)
    answers = Answers()
    async with bench(socket_directory, tools=lambda _: answering(answers), artifacts=config) as at:
        session = at.agent.session("s")
        assert (await session.call("head", {})).truncated
        answers.text = OTHER
        result = await session.call("head", {})
        assert result.completed
        assert (result.truncated, result.artifact) == (False, None)
        assert "the rest could not be stored: this session has all the artifacts that it may" in result.text
        assert len(result.text) < 17_000
        assert (await at.agent.session("another").call("head", {})).truncated
        samples = samples_in(await scraped(at))
        assert value(samples, "interlock_artifact_failures_total") == 1
        assert value(samples, "interlock_artifacts_refused_total", limit="session") == 1


@pytest.mark.req("ART-4", "OBS-1")
async def test_a_principal_that_has_all_it_may_leaves_the_rest_of_the_store_to_others(socket_directory: Path) -> None:
    size = len(LINES.encode())
    answers = Answers()
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), drain_s=5.0)
    identity = IdentityConfig(anonymous_agents_on_loopback=True)
    config = limited(max_principal_bytes=size + 10)
    async with (
        bench(
            socket_directory, tools=lambda _: answering(answers), artifacts=config, server=server, identity=identity
        ) as at,
        Client(at.gateway.endpoints.agents[1], timeout=30, patience=0) as another,
    ):
        assert (await at.agent.session("s").call("head", {})).truncated
        answers.text = OTHER
        full = await at.agent.session("t").call("head", {})
        assert f"the sessions of this principal have all the artifacts that they may, {size + 10} bytes" in full.text
        assert full.artifact is None
        assert (await another.session("u").call("head", {})).truncated

        async def is_told() -> bool:
            samples = samples_in(await scraped(at))
            refused = value(samples, "interlock_artifacts_refused_total", limit="principal")
            return (refused, value(samples, "interlock_artifact_largest_principal_bytes")) == (1, size)

        await eventually_so(is_told)


@pytest.mark.req("ART-4")
async def test_a_full_store_refuses_wholes_until_there_is_room_again(socket_directory: Path) -> None:
    size = len(LINES.encode())
    config = limited(max_total_bytes=size + 5_000)
    answers = Answers()
    async with bench(socket_directory, tools=lambda _: answering(answers), artifacts=config) as at:
        session = at.agent.session("s")
        assert (await session.call("head", {})).truncated
        answers.text = OTHER
        full = await at.agent.session("t").call("head", {})
        assert f"the artifact store holds all that it may, {size + 5_000} bytes" in full.text
        await session.close()
        at.clock.ahead_s += 3600

        async def is_kept() -> bool:
            return (await at.agent.session("t").call("head", {})).truncated

        await eventually_so(is_kept)
