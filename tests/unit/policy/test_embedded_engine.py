"""The embedded engine with real workers: whatever a policy does, the call is denied and nobody else notices (ENG-4)."""

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from engine_bundles import answering, bundle
from engine_running import ANSWER, failure, running_engine, said
from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from scheduling import IDLE, Place, place_of
from waiting import eventually

SETTINGS = PoolSettings(timeout_s=0.5, longest_wait_s=5.0, memory_bytes=64 * 1024 * 1024)
running = partial(running_engine, settings=SETTINGS)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()


@pytest.mark.req("ENG-1")
async def test_an_input_is_answered_with_the_decision_document() -> None:
    async with running() as engine:
        promised: PolicyEngine = engine
        answer = await promised.evaluate(ANSWER)
        assert json.loads(answer.document) == {"verdict": "allow", "said": "hello"}
        assert answer.policy == promised.active == ActivePolicy(bundle().revision, "standard")
        assert promised.ready
        assert promised.profile == "standard"
        assert promised.revision == bundle().revision


@pytest.mark.req("PIPE-6", "REL-1")
@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"{}", GatewayErrorCode.POLICY_UNDEFINED),
        (b'{"do": "conflict"}', GatewayErrorCode.POLICY_CONFLICT),
        (b'{"do": "fail", "zero": 0}', GatewayErrorCode.POLICY_ERROR),
        (b"not json", GatewayErrorCode.POLICY_ERROR),
        (b"\xff\xfe", GatewayErrorCode.POLICY_ERROR),
        (b"", GatewayErrorCode.POLICY_ERROR),
        (b'{"do": "recurse"}', GatewayErrorCode.POLICY_CRASHED),
        (b'{"do": "loop"}', GatewayErrorCode.POLICY_TIMEOUT),
    ],
)
async def test_no_single_decision_is_an_error_with_its_code_and_the_next_call_is_fine(
    document: bytes, code: GatewayErrorCode
) -> None:
    # What ends by itself has the time for it, however busy the machine is.
    patient = SETTINGS if code is GatewayErrorCode.POLICY_TIMEOUT else replace(SETTINGS, timeout_s=30.0)
    async with running(settings=patient) as engine:
        assert await failure(engine, document) is code
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-4")
async def test_an_evaluation_that_eats_memory_ends_its_worker_alone() -> None:
    async with running(settings=PoolSettings(timeout_s=60.0, memory_bytes=32 * 1024 * 1024)) as engine:
        assert await failure(engine, b'{"do": "bomb"}') is GatewayErrorCode.POLICY_CRASHED
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-4", "REL-7")
async def test_runaway_evaluations_are_denied_while_others_go_on() -> None:
    async with running() as engine:
        runaways = [asyncio.create_task(failure(engine, b'{"do": "loop"}')) for _ in range(2)]
        others = [asyncio.create_task(said(engine)) for _ in range(100)]
        assert await asyncio.gather(*others) == ["hello"] * 100
        assert await asyncio.gather(*runaways) == [GatewayErrorCode.POLICY_TIMEOUT] * 2
        assert await said(engine) == "hello"


@pytest.mark.req("REL-7")
async def test_those_queued_behind_a_runaway_are_decided_before_it_is_ended() -> None:
    async with running(settings=PoolSettings(workers=2, timeout_s=30.0)) as engine:
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await asyncio.sleep(0)
        others = [asyncio.create_task(said(engine)) for _ in range(12)]
        assert await asyncio.gather(*others) == ["hello"] * 12
        assert not runaway.done()
        runaway.cancel()


@pytest.mark.req("ENG-4", "REL-7")
async def test_more_runaways_than_workers_do_not_starve_the_others() -> None:
    async with running(settings=PoolSettings(workers=2, most_workers=3, timeout_s=30.0)) as engine:
        runaways = [asyncio.create_task(failure(engine, b'{"do": "loop"}')) for _ in range(2)]
        await asyncio.sleep(0)
        assert await asyncio.gather(*(said(engine) for _ in range(20))) == ["hello"] * 20
        for runaway in runaways:
            assert not runaway.done()
            runaway.cancel()


@pytest.mark.req("REL-7")
async def test_a_runaway_that_waited_for_a_worker_is_not_given_its_whole_time_again() -> None:
    async with running(settings=PoolSettings(workers=1, most_workers=1, timeout_s=2.0, longest_wait_s=5.0)) as engine:
        began = asyncio.get_running_loop().time()
        denied = await asyncio.gather(*(failure(engine, b'{"do": "loop"}') for _ in range(2)))
        assert denied == [GatewayErrorCode.POLICY_TIMEOUT] * 2
        assert asyncio.get_running_loop().time() - began < 3.8


@pytest.mark.req("REL-7")
async def test_a_stuck_evaluation_leaves_the_processor_to_the_others() -> None:
    ours = place_of(os.getpid())
    async with running(settings=PoolSettings(workers=1, most_workers=2, timeout_s=30.0)) as engine:
        (process_id,) = engine.process_ids
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await eventually(lambda: place_of(process_id).policy == IDLE)
        await eventually(lambda: len(engine.process_ids) == 2)
        slowed, other = (place_of(worker) for worker in engine.process_ids)
        assert slowed == Place(IDLE, 19, ours.session)
        assert other == ours, "what decides about others has its whole share, in the same session"
        runaway.cancel()


async def test_a_worker_that_was_slowed_down_is_replaced_when_it_is_done() -> None:
    large = b'{"do": "measure", "filler": [' + b"[]," * 1_000_000 + b"0]}"
    settings = PoolSettings(workers=1, most_workers=1, timeout_s=30.0, longest_wait_s=30.0)
    async with running(settings=settings) as engine:
        (process_id,) = engine.process_ids
        deciding = asyncio.create_task(engine.evaluate(large))
        await eventually(lambda: os.getpriority(os.PRIO_PROCESS, process_id) == 19)
        queued = asyncio.create_task(said(engine))
        assert json.loads((await deciding).document)["size"] == 1_000_001
        assert await queued == "hello"
        assert engine.process_ids != (process_id,)


@pytest.mark.req("REL-7")
async def test_small_inputs_do_not_wait_for_large_ones_under_evaluation() -> None:
    large = b'{"do": "loop", "filler": "' + b"x" * (1 << 20) + b'"}'
    async with running(settings=PoolSettings(workers=2, most_workers=2, timeout_s=30.0)) as engine:
        runaways = [asyncio.create_task(failure(engine, large)) for _ in range(3)]
        await asyncio.sleep(0)
        assert await asyncio.gather(*(said(engine) for _ in range(20))) == ["hello"] * 20
        for runaway in runaways:
            assert not runaway.done()
            runaway.cancel()


@pytest.mark.req("REL-7")
async def test_a_worker_that_gave_way_is_kept_for_the_next_large_input_and_ended_when_none_comes() -> None:
    large = b'{"do": "measure", "filler": [' + b"[]," * 1_000_000 + b"0]}"
    settings = PoolSettings(workers=1, most_workers=2, timeout_s=30.0, spare_s=0.5)
    async with running(settings=settings) as engine:
        (first,) = engine.process_ids
        await engine.evaluate(large)
        assert os.getpriority(os.PRIO_PROCESS, first) == 19
        await eventually(lambda: len(engine.process_ids) == 2)
        assert first in engine.process_ids
        deciding = asyncio.create_task(engine.evaluate(large))
        assert await said(engine) == "hello"
        await deciding
        assert first in engine.process_ids
        await eventually(lambda: first not in engine.process_ids)
        assert await said(engine) == "hello"
        assert len(engine.process_ids) == 1


async def test_extra_workers_are_ended_when_they_have_been_idle() -> None:
    settings = PoolSettings(workers=1, most_workers=2, timeout_s=0.3, spare_s=0.01)
    async with running(settings=settings) as engine:
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await asyncio.sleep(0)
        assert await said(engine) == "hello"
        assert await runaway is GatewayErrorCode.POLICY_TIMEOUT
        await eventually(lambda: len(engine.process_ids) == 1)


@pytest.mark.req("ENG-4")
async def test_a_worker_killed_from_outside_costs_its_one_call_and_is_replaced() -> None:
    async with running(settings=PoolSettings(workers=1, most_workers=1, timeout_s=30.0)) as engine:
        (process_id,) = engine.process_ids
        head = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await asyncio.sleep(0)
        queued = asyncio.create_task(said(engine))
        await asyncio.sleep(0)
        os.kill(process_id, signal.SIGKILL)
        assert await head is GatewayErrorCode.POLICY_CRASHED
        assert await queued == "hello"
        assert engine.process_ids != (process_id,)
        assert gone(process_id)


@pytest.mark.req("PIPE-6")
async def test_an_input_beyond_the_limit_is_refused_without_evaluating_it() -> None:
    engine = EmbeddedEngine(bundle(), SETTINGS, max_input_bytes=100)
    await engine.start()
    assert await failure(engine, b'{"do": "answer", "say": "' + b"x" * 100 + b'"}') is (
        GatewayErrorCode.POLICY_INPUT_TOO_LARGE
    )
    await engine.close()


async def test_an_input_of_four_mebibytes_is_evaluated_whole() -> None:
    async with running(settings=PoolSettings(timeout_s=10.0)) as engine:
        answer = await engine.evaluate(b'{"do": "measure", "filler": "' + b"x" * (4 << 20) + b'"}')
        assert json.loads(answer.document)["size"] == 4 << 20


async def test_many_calls_at_once_get_each_its_own_answer() -> None:
    async with running() as engine:
        documents = [f'{{"do": "answer", "say": "{number}"}}'.encode() for number in range(500)]
        answers = await asyncio.gather(*(engine.evaluate(document) for document in documents))
        assert [json.loads(answer.document)["said"] for answer in answers] == [str(number) for number in range(500)]


async def test_a_cancelled_call_leaves_the_others_their_answers() -> None:
    async with running() as engine:
        documents = [f'{{"do": "answer", "say": "{number}"}}'.encode() for number in range(50)]
        tasks = [asyncio.create_task(engine.evaluate(document)) for document in documents]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        for number, answer in enumerate(answers):
            if number % 2:
                assert isinstance(answer, PolicyAnswer)
                assert json.loads(answer.document)["said"] == str(number)
            else:
                assert isinstance(answer, asyncio.CancelledError)


@pytest.mark.req("LIFE-3")
async def test_replacing_under_load_answers_every_call_with_the_bundle_it_began_with() -> None:
    first, second = answering("first"), answering("second")
    async with running(first) as engine:
        begun: list[asyncio.Task[tuple[str, str]]] = []

        async def one() -> tuple[str, str]:
            return engine.revision, await said(engine)

        async def load() -> None:
            while engine.revision == first.revision or len(begun) < 200:
                begun.append(asyncio.create_task(one()))
                await asyncio.sleep(0)

        loading = asyncio.create_task(load())
        await engine.replace(second)
        await loading
        answers = await asyncio.gather(*begun)
        assert set(answers) == {(first.revision, "first"), (second.revision, "second")}


@pytest.mark.req("LIFE-3")
async def test_a_bundle_that_does_not_load_is_refused_and_the_active_one_stays() -> None:
    async with running(answering("first")) as engine:
        with pytest.raises(PolicyUnavailableError, match=r"main\.rego|interlock"):
            await engine.replace(bundle("package interlock\n\ndecision := {\n"))
        assert await said(engine) == "first"


@pytest.mark.parametrize(
    "source",
    [
        "package interlock\n\ndecision := {",
        "package interlock\n\ndecision := x if {\n\tx == y\n}",
    ],
)
async def test_a_bundle_that_does_not_compile_does_not_start(source: str) -> None:
    before = descriptors()
    engine = EmbeddedEngine(bundle(source), SETTINGS)
    with pytest.raises(PolicyUnavailableError):
        await engine.start()
    assert not engine.ready
    assert descriptors() == before


@pytest.mark.req("PIPE-6")
async def test_a_closed_engine_denies() -> None:
    async with running() as engine:
        await engine.close()
        assert not engine.ready
        assert await failure(engine, ANSWER) is GatewayErrorCode.POLICY_UNAVAILABLE


async def test_closing_denies_what_is_in_flight_and_leaves_no_process_and_no_descriptor() -> None:
    before = descriptors()
    async with running() as engine:
        process_ids = engine.process_ids
        assert len(process_ids) == 2
        flying = [asyncio.create_task(failure(engine, b'{"do": "loop"}')) for _ in range(30)]
        await asyncio.sleep(0)
    assert set(await asyncio.gather(*flying)) == {GatewayErrorCode.POLICY_UNAVAILABLE}
    assert all(gone(process_id) for process_id in process_ids)
    assert descriptors() == before


async def test_calls_that_find_no_worker_in_time_are_denied() -> None:
    settings = PoolSettings(workers=1, most_workers=1, window=1, timeout_s=30.0, longest_wait_s=0.05)
    async with running(settings=settings) as engine:
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        await asyncio.sleep(0)
        assert await failure(engine, ANSWER) is GatewayErrorCode.POLICY_UNAVAILABLE
        runaway.cancel()


@pytest.mark.req("ENG-5")
async def test_a_policy_sees_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_SECRET_OF_A_TEST", "1")
    curious = bundle('package interlock\n\ndecision := {"verdict": "allow", "seen": opa.runtime()}\n')
    async with running(curious) as engine:
        answer = await engine.evaluate(b"{}")
        assert b"INTERLOCK_SECRET_OF_A_TEST" not in answer.document


ORPHAN_MAKER = """
import asyncio, sys
from engine_bundles import bundle
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings

async def main():
    engine = EmbeddedEngine(bundle(), PoolSettings(workers=2, timeout_s=0.5))
    await engine.start()
    task = asyncio.create_task(engine.evaluate(b'{"do": "loop"}'))
    await asyncio.sleep(0)
    print(*engine.process_ids, flush=True)
    await asyncio.sleep(0)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.mark.req("ENG-4")
async def test_workers_end_when_the_gateway_is_killed_even_in_the_middle_of_an_evaluation() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ORPHAN_MAKER,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent,
    )
    assert process.stdout is not None
    workers = [int(word) for word in (await process.stdout.readline()).split()]
    process.kill()
    await process.communicate()
    assert len(workers) == 2
    await eventually(lambda: all(gone(worker) for worker in workers))


async def test_an_engine_that_is_closed_while_it_is_given_policies_leaves_no_process() -> None:
    before = descriptors()
    async with running(answering("first")) as engine:
        replacing = asyncio.create_task(engine.replace(answering("second")))
        await asyncio.sleep(0)
        await engine.close()
        with pytest.raises(PolicyUnavailableError):
            await replacing
    assert descriptors() == before
