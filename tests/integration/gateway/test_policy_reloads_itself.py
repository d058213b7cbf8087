"""Changed overlays are loaded by themselves: when they have settled, in one step, and never a bad one."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from gateway_bench import bench
from interlock import CallStatus
from interlock_gateway.app import reload_on_hangup
from interlock_gateway.config import PolicyConfig
from interlock_gateway.operate.policy_watch import PolicyWatch
from policy_overlays import denying, overlay_in, status_of, texts, until
from scraping import samples_in, scraped, value
from waiting import a_moment


def watched(overlay: Path, watch_s: float = 0.05) -> PolicyConfig:
    return PolicyConfig(overlays=(overlay,), watch=True, watch_s=watch_s, workers=1)


@pytest.mark.req("LIFE-3")
async def test_a_changed_overlay_takes_over_by_itself_and_a_bad_one_is_refused_once(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    overlay = overlay_in(socket_directory)
    async with bench(socket_directory, policy=watched(overlay)) as at:
        first = await status_of(at)
        assert await texts(at, "hush") == ["hush"]
        overlay_in(socket_directory, denying("hush"))
        second = await until(at, lambda now: now.revision != first.revision)
        assert await texts(at, "hush", "x") == ["not hush", "x"]
        (overlay / "custom" / "bad.rego").write_text("package interlock.custom\n\nfindings contains {\n")
        third = await until(at, lambda now: not now.last_reload.accepted)
        assert third.revision == second.revision
        (problem,) = third.last_reload.problems
        assert (problem.file, problem.line) == ("overlay/custom/bad.rego", 4)
        (logged,) = (record for record in caplog.records if "refused" in record.message)
        assert vars(logged)["place"] == "overlay/custom/bad.rego:4"
        for _ in range(20):
            await a_moment()
        found = samples_in(await scraped(at))
        assert value(found, "interlock_policy_reloads_total", outcome="refused") == 1
        assert value(found, "interlock_policy_activated_timestamp_seconds") > 0
        (overlay / "custom" / "bad.rego").unlink()
        (overlay / "custom" / "word.rego").write_text(denying("shout"))
        await until(at, lambda now: now.last_reload.accepted and now.revision != second.revision)
        assert await texts(at, "hush", "shout") == ["hush", "not shout"]


def configmap(directory: Path, number: int, source: str) -> None:
    """Swap an overlay as Kubernetes does: a new directory, and one link put in the place of another."""
    version = directory / f"..2026_{number}"
    (version / "custom").mkdir(parents=True)
    (version / "custom" / "word.rego").write_text(source)
    (version / "data.yaml").write_text("settings: {}\n")
    link = directory / "..data_tmp"
    link.symlink_to(version.name)
    link.replace(directory / "..data")
    for name in ("custom", "data.yaml"):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")


@pytest.mark.req("LIFE-3")
async def test_a_configmap_is_swapped_by_its_link(socket_directory: Path) -> None:
    overlay = socket_directory / "mounted"
    overlay.mkdir()
    configmap(overlay, 1, denying("one"))
    async with bench(socket_directory, policy=watched(overlay)) as at:
        assert await texts(at, "one", "two") == ["not one", "two"]
        before = (await status_of(at)).revision
        configmap(overlay, 2, denying("two"))
        await until(at, lambda now: now.revision != before)
        assert await texts(at, "one", "two") == ["one", "not two"]


@pytest.mark.req("LIFE-3")
async def test_what_is_half_written_is_not_loaded_until_two_looks_agree(socket_directory: Path) -> None:
    overlay = overlay_in(socket_directory)
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,), workers=1)) as at:
        keeper = at.gateway.rooms.policy
        watch = PolicyWatch(keeper)
        await watch.look()
        assert keeper.last_reload is None
        source = denying("hush")
        for length in range(10, len(source), 40):
            overlay_in(socket_directory, source[:length])
            await watch.look()
        assert keeper.last_reload is None
        overlay_in(socket_directory, source)
        await watch.look()
        assert keeper.last_reload is None
        await watch.look()
        assert keeper.last_reload is not None
        assert keeper.last_reload.accepted
        at_first = keeper.activated_at
        await watch.look()
        (overlay / "custom" / "word.rego").touch()
        (overlay / "custom" / ".word.rego.swp").write_text("an editor's")
        await watch.look()
        await watch.look()
        assert keeper.activated_at == at_first


@pytest.mark.req("LIFE-3", "LIFE-7")
async def test_each_answer_belongs_to_one_policy_through_many_reloads_and_none_is_missing(
    socket_directory: Path,
) -> None:
    overlay = overlay_in(socket_directory, denying("hush", "0"))
    rounds, answers, health = 8, [], []
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,), workers=1)) as at:
        said = {at.gateway.rooms.engine.revision: "0"}
        done = asyncio.Event()

        async def calling(name: str) -> None:
            session = at.agent.session(name)
            while not done.is_set():
                result = await session.call("echo", {"text": "hush"})
                answers.append((result.status, result.decision.policy_revision, result.text))
                health.append(at.gateway.rooms.engine.ready)

        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(calling(f"s{number}"))
            for number in range(1, rounds):
                overlay_in(socket_directory, denying("hush", str(number)))
                reload = await at.gateway.rooms.policy.reload()
                assert reload.accepted
                said[reload.revision] = str(number)
            done.set()
    assert len(said) == rounds
    assert all(health)
    assert {(status, said[revision], text) for status, revision, text in answers} <= {
        (CallStatus.DENIED, str(number), str(number)) for number in range(rounds)
    }
    assert len({revision for _, revision, _ in answers}) > rounds // 2


async def test_a_hangup_loads_the_policies_again(socket_directory: Path) -> None:
    overlay = overlay_in(socket_directory)
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,), workers=1)) as at:
        loop = asyncio.get_running_loop()
        reload_on_hangup(loop, at.gateway)
        try:
            overlay_in(socket_directory, denying("hush"))
            before = at.gateway.rooms.engine.revision
            os.kill(os.getpid(), signal.SIGHUP)
            await until(at, lambda now: now.revision != before)
            assert await texts(at, "hush") == ["not hush"]
        finally:
            loop.remove_signal_handler(signal.SIGHUP)
