"""Facts have a time, which a call that waits its turn does not use up: one that hangs ends alone (REL-1, PIPE-5)."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import cast

import pytest
from interlock_gateway.core.decision import DecisionError
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.facts.offload import OffloadedFacts
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.pipeline.run import CallRun

SHORT_S = 0.4
"""The time of an extraction here."""


def a_call(name: str) -> CallRun:
    """As much of a call as facts are made from."""
    tool = SimpleNamespace(
        name="look", permission_class="ledger", definition=SimpleNamespace(input_schema={}), fact_arguments={}
    )
    session = SimpleNamespace(roots=())
    run = SimpleNamespace(
        known_tool=tool,
        document=SimpleNamespace(value={"name": name}),
        request=SimpleNamespace(workdir=""),
        live=SimpleNamespace(session=session),
    )
    return cast("CallRun", run)


async def of(facts: OffloadedFacts, name: str) -> JsonObject:
    """The facts about a call with this argument."""
    run = a_call(name)
    return await facts.extract(run, run.document)


@pytest.fixture
def facts() -> Iterator[OffloadedFacts]:
    """One thread, so that calls wait for each other."""
    made = OffloadedFacts((), threads=1, timeout_s=SHORT_S)
    yield made
    made.close()


Extractor = Callable[[FactRequest], JsonObject]


@pytest.fixture
def extracting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Extractor], None]:
    """Say how facts are extracted."""
    return lambda how: monkeypatch.setattr("interlock_gateway.facts.offload.extract", how)


def named(request: FactRequest) -> JsonObject:
    return {"name": str(request.input["name"])}


@pytest.mark.req("REL-1")
async def test_what_hangs_is_given_up_and_so_is_what_waits_behind_it(
    facts: OffloadedFacts, extracting: Callable[[Extractor], None]
) -> None:
    back = threading.Event()

    def hangs(request: FactRequest) -> JsonObject:
        back.wait()
        return named(request)

    extracting(hangs)
    try:
        ends = await asyncio.gather(*(of(facts, str(n)) for n in range(3)), return_exceptions=True)
    finally:
        back.set()
    assert [end.code for end in ends if isinstance(end, DecisionError)] == ["facts_failed"] * 3
    assert await of(facts, "next") == {"name": "next"}


async def test_waiting_for_others_that_get_on_is_not_counted(
    facts: OffloadedFacts, extracting: Callable[[Extractor], None]
) -> None:
    def slow(request: FactRequest) -> JsonObject:
        threading.Event().wait(SHORT_S / 2)
        return named(request)

    extracting(slow)
    got = await asyncio.gather(*(of(facts, str(n)) for n in range(6)))
    assert got == [{"name": str(n)} for n in range(6)]


async def test_what_the_process_stood_still_is_not_counted(
    facts: OffloadedFacts, extracting: Callable[[Extractor], None]
) -> None:
    goes_on = threading.Event()

    def stands(request: FactRequest) -> JsonObject:
        goes_on.wait()
        return named(request)

    def stand_still() -> None:
        threading.Event().wait(SHORT_S * 3)
        goes_on.set()

    extracting(stands)
    asyncio.get_running_loop().call_later(SHORT_S / 8, stand_still)
    assert await of(facts, "late") == {"name": "late"}


async def test_facts_that_nobody_waits_for_any_more_are_not_begun(
    facts: OffloadedFacts, extracting: Callable[[Extractor], None]
) -> None:
    goes_on, begun = threading.Event(), list[str]()

    def stands(request: FactRequest) -> JsonObject:
        begun.append(str(request.input["name"]))
        goes_on.wait()
        return named(request)

    extracting(stands)
    first = asyncio.create_task(of(facts, "first"))
    second = asyncio.create_task(of(facts, "second"))
    await asyncio.wait((first, second), timeout=SHORT_S / 8)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    goes_on.set()
    assert await first == {"name": "first"}
    assert await of(facts, "third") == {"name": "third"}
    assert begun == ["first", "third"]
