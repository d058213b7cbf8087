"""An operator says what came of an apply whose outcome is not known, and does nothing else for the agent (PREV-14)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, bench
from interlock import CallStatus
from interlock import Gateway as Client
from interlock.errors import InterlockError, InvalidRequestError, RequestError
from interlock.provider import DryRunResult, Tool, tool
from interlock_gateway.audit.read import read_records
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.errors import AuditUnavailableError
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.pending_store import PendingActions
from waiting import eventually


class Slow:
    """A tool whose applies never end by themselves."""

    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), asyncio.Event()

    def tools(self, _: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=True)
        async def slow(name: str) -> str:
            """Never finish."""
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
            return name

        @slow.dry_run
        def would(name: str) -> DryRunResult:
            return DryRunResult(preview="slowly", state_token="s", label=name)

        return [slow]


async def left_unknown(at: Bench, slow: Slow, name: str) -> str:
    """Apply a change and hang up while it runs; the pending action of which nobody knows what came of it."""
    slow.started.clear()
    slow.ended.clear()
    session = at.agent.session("s")
    previewed = await session.call("slow", {"name": name})
    assert previewed.pending is not None
    applying = asyncio.create_task(session.resolve("apply", "go", timeout=30))
    await asyncio.wait_for(slow.started.wait(), 30)
    applying.cancel()
    await asyncio.wait_for(slow.ended.wait(), 30)
    await asyncio.gather(applying, return_exceptions=True)
    await eventually(at.gateway.idle)
    return previewed.pending.pending_id


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
async def unsure(socket_directory: Path, slow: Slow) -> AsyncIterator[Bench]:
    async with bench(socket_directory, tools=slow.tools) as at:
        yield at


@pytest.mark.req("PREV-14", "AUD-1", "AUTH-2")
async def test_an_operator_says_what_came_of_an_action_under_their_own_name(socket_directory: Path, slow: Slow) -> None:
    async with bench(socket_directory, tools=slow.tools) as at:
        first, second = [await left_unknown(at, slow, name) for name in ("first", "second")]
        async with Client(at.gateway.endpoints.operators[0]) as operator:
            session = operator.session("s")
            assert {one.pending_id for one in (await session.pending()).actions} == {first, second}

            told = await session.resolve("apply", "the row is there", {"outcome": "applied"}, pending_id=first)

            assert (told.status, told.text) == (CallStatus.COMPLETED, "Recorded: first was applied.")
            assert told.details["label"] == "first"
            (left,) = (await at.agent.session("s").pending()).actions
            assert (left.pending_id, left.state) == (second, "outcome_unknown")
            await session.resolve("discard", "it is not there", {"outcome": "not_applied"})
        assert (await at.agent.session("s").pending()).actions == ()
    records: list[dict[str, Any]] = [dict(one.record) for one in read_records(socket_directory / "state" / "audit")]
    receipts = [one for one in records if one["kind"] == "receipt"]
    settled, again = [one for one in receipts if [it["code"] for it in one["result"]["reasons"]] == ["settled"]]
    agents = {one["requested_by"] for one in receipts if one["tool"] == "slow"}
    assert {settled["requested_by"], again["requested_by"]}.isdisjoint(agents)
    assert (settled["session_id"], settled["pending_id"], again["pending_id"]) == ("s", first, second)
    assert settled["resolution"]["reason"] == "the row is there"
    assert settled["resolution"]["extra"] == {"outcome": "applied"}


@pytest.mark.req("PREV-14", "AUTH-2")
async def test_an_operator_neither_applies_nor_discards_in_the_agents_place(unsure: Bench, slow: Slow) -> None:
    await left_unknown(unsure, slow, "first")
    await unsure.agent.session("s").call("slow", {"name": "second"})
    slow.started.clear()
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        for extra in (None, {"outcome": "who knows"}, {}):
            with pytest.raises(InvalidRequestError, match="is the agent's"):
                await operator.session("s").resolve("apply", "for them", extra)
            with pytest.raises(InvalidRequestError, match="is the agent's"):
                await operator.session("s").resolve("discard", "for them", extra)
        with pytest.raises(InvalidRequestError, match="reason"):
            await operator.session("s").resolve("apply", " ", {"outcome": "applied"})
    assert not slow.started.is_set()
    states = [one.state for one in (await unsure.agent.session("s").pending()).actions]
    assert states == ["pending", "outcome_unknown"]


@pytest.mark.req("PREV-14")
async def test_nothing_is_settled_that_is_not_unknown(unsure: Bench, slow: Slow) -> None:
    pending_id = await left_unknown(unsure, slow, "first")
    said = {"outcome": "applied"}
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        for session_id, named in (("nobodys", ""), ("s", "another")):
            with pytest.raises(RequestError):
                await operator.session(session_id).resolve("apply", "it is there", said, pending_id=named)
        mistaken = await unsure.agent.session("s").resolve("apply", "it is there", said, pending_id="another")
        assert mistaken.text == "No pending action has an unknown outcome."
        await operator.session("s").resolve("apply", "it is there", said, pending_id=pending_id)
        with pytest.raises(RequestError):
            await operator.session("s").resolve("apply", "it is there", said, pending_id=pending_id)


@pytest.mark.req("PREV-14")
async def test_an_operator_names_the_action_where_several_are_of_unknown_outcome(unsure: Bench, slow: Slow) -> None:
    first, second = [await left_unknown(unsure, slow, name) for name in ("first", "second")]
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        with pytest.raises(InvalidRequestError, match="name one of them") as raised:
            await operator.session("s").resolve("apply", "it is there", {"outcome": "applied"})
        assert f"{second} (second), {first} (first)" in str(raised.value)
    assert len((await unsure.agent.session("s").pending()).actions) == 2


def settlements(directory: Path) -> list[tuple[str, str, str]]:
    """The records of what operators settled: their kind, their code, and how it ended."""
    records: list[dict[str, Any]] = [dict(one.record) for one in read_records(directory / "state" / "audit")]
    told = [one for one in records if one.get("resolution", {}).get("extra", {}).get("outcome")]
    return [
        (one["kind"], one["result"]["reasons"][0]["code"], one.get("outcome", {}).get("status", "")) for one in told
    ]


@pytest.mark.req("PREV-14", "AUD-1", "PIPE-12")
async def test_of_operators_who_say_different_things_at_once_one_is_believed_and_the_audit_says_which(
    socket_directory: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = asyncio.Barrier(2)
    settle = PendingActions.settle_unknown

    async def together(store: PendingActions, pending_id: str, now: float, *, applied: bool) -> PendingAction:
        await both.wait()
        return await settle(store, pending_id, now, applied=applied)

    monkeypatch.setattr(PendingActions, "settle_unknown", together)
    async with bench(socket_directory, tools=slow.tools) as at:
        await left_unknown(at, slow, "first")
        async with Client(at.gateway.endpoints.operators[0]) as operator:
            session = operator.session("s")
            said = await asyncio.gather(
                session.resolve("apply", "it is there", {"outcome": "applied"}),
                session.resolve("discard", "it is not there", {"outcome": "not_applied"}),
                return_exceptions=True,
            )
    (error,) = [one for one in said if isinstance(one, RequestError)]
    assert "as somebody else said meanwhile" in str(error)
    assert sorted(settlements(socket_directory)) == [
        ("intent", "settling", ""),
        ("intent", "settling", ""),
        ("receipt", "not_settled", "failed"),
        ("receipt", "settled", "completed"),
    ]


@pytest.mark.req("PREV-14", "AUD-1", "PIPE-12")
async def test_a_settlement_that_the_database_does_not_take_is_not_said_to_be_made(
    socket_directory: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise StateUnavailableError("the database cannot be written")

    async with bench(socket_directory, tools=slow.tools) as at:
        await left_unknown(at, slow, "first")
        async with Client(at.gateway.endpoints.operators[0], patience=0) as operator:
            with monkeypatch.context() as patched:
                patched.setattr(PendingActions, "settle_unknown", fails)
                with pytest.raises(InterlockError):
                    await operator.session("s").resolve("apply", "it is there", {"outcome": "applied"})
        assert len((await at.agent.session("s").pending()).actions) == 1
    found = settlements(socket_directory)  # of each time that the client tried
    assert set(found) == {("intent", "settling", ""), ("receipt", "settlement_unknown", "outcome_unknown")}
    assert found[0][0] == "intent"


@pytest.mark.req("PREV-14", "PIPE-12")
async def test_nothing_is_settled_while_its_intent_cannot_be_written(
    unsure: Bench, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise AuditUnavailableError("the disk is full")

    await left_unknown(unsure, slow, "first")
    async with Client(unsure.gateway.endpoints.operators[0], patience=0) as operator:
        with monkeypatch.context() as patched:
            patched.setattr(AuditRecorder, "intend", full)
            with pytest.raises(InterlockError):
                await operator.session("s").resolve("apply", "it is there", {"outcome": "applied"})
    (left,) = (await unsure.agent.session("s").pending()).actions
    assert left.state == "outcome_unknown"


@pytest.mark.req("PREV-14", "PIPE-12")
async def test_a_settlement_whose_receipt_cannot_be_written_says_so(
    unsure: Bench, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise AuditUnavailableError("the disk is full")

    await left_unknown(unsure, slow, "first")
    async with Client(unsure.gateway.endpoints.operators[0]) as operator:
        with monkeypatch.context() as patched:
            patched.setattr(AuditRecorder, "settle", full)
            told = await operator.session("s").resolve("apply", "it is there", {"outcome": "applied"})
    assert (told.text, told.details["audit"]) == (
        "Recorded: first was applied.",
        "the receipt of this settlement could not be written",
    )
