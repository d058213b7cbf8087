"""What `resolve`, an expiry and a closed session leave in the audit, and at the provider (AUD-1, PREV-8, PREV-13)."""

from pathlib import Path
from typing import Any

import pytest
from audited_calls import Audited, audited
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock import CallStatus
from interlock.provider import PendingAction as Pushed
from interlock.provider import Tool, ToolResult, tool
from interlock.toolbox import local_operations, toolbox_tools
from interlock_gateway.audit.read import StoredRecord, read_records
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.core.outcome import Resolution, ToolOutcome
from interlock_gateway.errors import AuditUnavailableError, ProviderDownError
from interlock_gateway.pipeline import endings
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.providers.calling import CallingProvider
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.live import LiveSession
from waiting import eventually

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
MARK = "[redacted:github-token]"


def records_of(directory: Path) -> list[StoredRecord]:
    return list(read_records(directory / "state" / "audit"))


def said(records: list[StoredRecord], kind: str = "receipt") -> list[dict[str, Any]]:
    """The records of that kind that are about a resolution, oldest first."""
    return [dict(one.record) for one in records if one.kind == kind and "resolution" in one.record]


async def told(at: Bench, count: int = 1) -> None:
    """Until the provider was told of so many discards, and all that follows from it is done."""
    await eventually(lambda: len(at.ledger.rejected) == count)
    await eventually(at.gateway.idle)


@pytest.fixture
async def resolved(socket_directory: Path) -> Audited:
    async with audited(socket_directory) as found:
        session = found.at.agent.session("s")
        await session.call("replace_value", {"value": "b"}, call_id="previewed")
        await session.resolve("apply", "it is right", {"ticket": 7, "note": SECRET}, call_id="applied")
        await session.call("replace_value", {"value": "c"}, call_id="previewed again")
        await session.resolve("discard", f"no: {SECRET}", {"ticket": 8}, call_id="discarded")
        await session.call("propose", {"plan": "p"}, call_id="pushed")
        await session.resolve("discard", "not that", {"many": "x" * 5000}, call_id="rejected")
        await session.resolve("discard", "once more", call_id="nothing")
    return found


@pytest.mark.req("AUD-1", "PREV-3", "PREV-5")
async def test_the_receipt_of_an_apply_says_why_and_about_what(resolved: Audited) -> None:
    receipt = resolved.of("applied")

    assert receipt["resolution"] == {
        "action": "apply",
        "reason": "it is right",
        "pending_id": receipt["pending_id"],
        "label": "replace first by b",
        "source_tool": "replace_value",
        "tool": "replace_value",
        "input_sha256": receipt["resolution"]["input_sha256"],
        "extra": {"ticket": 7, "note": MARK},
    }
    assert "/resolution/extra/note" in receipt["masked"]
    assert resolved.of("applied", "intent")["resolution"] == receipt["resolution"]
    assert receipt["pending_id"] == resolved.of("previewed")["pending_id"]


@pytest.mark.req("AUD-1", "PREV-3", "PREV-8")
async def test_the_receipt_of_a_discard_says_why_and_what_was_discarded(resolved: Audited) -> None:
    receipt = resolved.of("discarded")

    assert receipt["pending_id"] == resolved.of("previewed again")["pending_id"] != ""
    assert len(receipt["digest"]) == 64
    assert receipt["resolution"]["reason"] == f"no: {MARK}"
    assert receipt["resolution"]["label"] == "replace b by c"
    assert (receipt["resolution"]["action"], receipt["resolution"]["extra"]) == ("discard", {"ticket": 8})
    assert len(receipt["resolution"]["input_sha256"]) == 64
    assert resolved.counted("intent")["discarded"] == 0, "nothing is sent to anybody"
    assert "pending_id" not in resolved.of("nothing")
    assert resolved.of("nothing")["resolution"] == {"action": "discard", "reason": "once more"}


@pytest.mark.req("AUD-1", "PIPE-9", "PIPE-12", "PREV-8")
async def test_before_a_provider_is_told_of_a_discard_its_intent_is_on_disk(resolved: Audited) -> None:
    intent, receipt = resolved.of("rejected", "intent"), resolved.of("rejected")

    assert intent["pending_id"] == receipt["pending_id"] == resolved.of("pushed")["pending_id"]
    assert intent["sequence"] < receipt["sequence"]
    assert "outcome" not in intent
    extra = receipt["resolution"]["extra"]
    assert extra["bytes"] > 5000
    assert receipt["erased"] == ["/resolution/extra"]


@pytest.mark.req("PIPE-12", "PREV-8")
async def test_a_provider_is_not_told_of_a_discard_whose_intent_cannot_be_written(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = at.agent.session("s")
    await session.call("propose", {"plan": "p"})

    async def full(*_: object) -> None:
        raise AuditUnavailableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(AuditRecorder, "intend", full)
        refused = await session.resolve("discard", "not that")

    assert (refused.status, refused.decision.reasons[0].code) == (
        CallStatus.DENIED,
        "gateway_error.audit_unavailable",
    )
    assert at.ledger.rejected == []
    assert len((await session.pending()).actions) == 1


@pytest.mark.req("PREV-13", "PREV-8", "AUD-1")
async def test_an_expiry_is_a_discard_that_the_provider_is_told_of(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        await at.agent.session("s").call("propose", {"plan": "p"})
        await at.agent.session("s").call("replace_value", {"value": "b"})
        at.clock.ahead_s = 31 * 60
        await told(at)
        assert at.ledger.rejected == [{"token": "plan:p", "reason": "expired", "extra": None}]
    records = records_of(socket_directory)
    receipts = {one["resolution"]["label"]: one for one in said(records)}
    assert set(receipts) == {"p", "replace first by b"}
    for one in receipts.values():
        assert (one["resolution"]["action"], one["resolution"]["reason"]) == ("discard", "expired")
        assert one["result"]["reasons"][0]["code"] == "expired"
        assert (one["session_id"], one["outcome"]["status"]) == ("s", "completed")
        assert one["pending_id"] == one["resolution"]["pending_id"] != ""
    (intent,) = said(records, "intent")
    assert intent["pending_id"] == receipts["p"]["pending_id"]
    assert intent["sequence"] < receipts["p"]["sequence"]


@pytest.mark.req("PREV-13", "PREV-8", "AUD-1")
async def test_what_is_pending_in_a_closed_session_is_discarded_at_the_provider_too(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        await session.call("propose", {"plan": "one"})
        await session.call("propose", {"plan": "bad"})
        await session.close()
        await told(at, 2)
        assert {one["token"] for one in at.ledger.rejected} == {"plan:one", "plan:bad"}
        assert {one["reason"] for one in at.ledger.rejected} == {"session closed"}
    receipts = {one["resolution"]["label"]: one for one in said(records_of(socket_directory))}
    assert receipts["one"]["resolution"]["reason"] == "session closed"
    assert receipts["one"]["outcome"] == {**receipts["one"]["outcome"], "status": "completed", "is_error": False}
    assert receipts["bad"]["outcome"]["is_error"], "the provider's own error is on record"


@pytest.mark.req("PREV-13", "PREV-8")
async def test_an_expired_plan_of_batch_rename_is_withdrawn(socket_directory: Path) -> None:
    work = socket_directory / "work"
    work.mkdir()
    (work / "a").write_text("a")
    operations = local_operations([work], socket_directory / "vault")
    async with bench(socket_directory, tools=lambda _: toolbox_tools(operations), workspace_roots=(str(work),)) as at:
        planned = await at.agent.session("s").call("batch_rename", {"renames": [{"path": "a", "new_path": "b"}]})
        assert planned.pending is not None, planned.text
        records = [path for path in (socket_directory / "vault").rglob("*") if path.is_file()]
        assert any("planned" in path.read_text(errors="replace") for path in records)
        at.clock.ahead_s = 31 * 60
        await eventually(lambda: not any("planned" in path.read_text(errors="replace") for path in records))


class Deaf:
    """A provider's reject that does not hear the first few times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.heard: list[str] = []
        self.times = times
        reject = CallingProvider.reject_pending

        async def rejecting(provider: CallingProvider, resolution: Resolution) -> ToolOutcome | None:
            self.heard.append(resolution.call_id)
            if len(self.heard) <= self.times:
                raise ProviderDownError("it cannot be reached")
            return await reject(provider, resolution)

        monkeypatch.setattr(CallingProvider, "reject_pending", rejecting)
        monkeypatch.setattr(endings, "PAUSES_S", (0.0, 0.0))


@pytest.mark.req("PREV-13", "PREV-8")
async def test_a_provider_that_does_not_hear_of_a_discard_is_told_again(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = Deaf(monkeypatch, 2)
    await at.agent.session("s").call("propose", {"plan": "p"})
    await at.agent.session("s").close()
    await told(at)
    assert len(deaf.heard) == 3
    assert len(set(deaf.heard)) == 1, "the same resolution, which is not to be carried out twice"


@pytest.mark.req("PREV-13", "AUD-1")
async def test_a_discard_that_a_provider_never_hears_of_is_said_to_be_lost(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deaf = Deaf(monkeypatch, 9)
    async with bench(socket_directory) as at:
        await at.agent.session("s").call("propose", {"plan": "p"})
        await at.agent.session("s").close()
        await eventually(lambda: len(deaf.heard) == 3)
        await eventually(at.gateway.idle)
    (receipt,) = said(records_of(socket_directory))
    assert receipt["outcome"]["status"] == "failed"
    assert receipt["result"]["reasons"][0]["code"] == "reject_lost"
    assert any(one.getMessage() == "a provider was not told of a discard" for one in caplog.records)


@pytest.mark.req("PREV-13")
async def test_an_apply_that_fails_in_a_session_that_was_closed_meanwhile_is_discarded_at_the_provider(
    socket_directory: Path,
) -> None:
    def tools(ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=False, reversible=True)
        def plan() -> ToolResult:
            """Push a pending action."""
            return ToolResult(content="planned", pending_action=Pushed(label="plan", token="1"))

        @plan.apply
        async def apply(token: str) -> str:
            await at.agent.session("s").close()
            raise RuntimeError(token)

        @plan.reject
        def reject(token: str, reason: str) -> None:
            ledger.rejected.append({"token": token, "reason": reason})

        return [*ledger_tools(ledger), plan]

    async with bench(socket_directory, tools=tools) as at:
        await at.agent.session("s").call("plan", {})
        await at.agent.session("s").resolve("apply", "go")
        await told(at)
        assert at.ledger.rejected == [{"token": "1", "reason": "session closed"}]


@pytest.mark.req("PREV-13", "PIPE-12")
@pytest.mark.parametrize("how", ["expired", "session closed"])
async def test_what_is_over_while_receipts_cannot_be_written_is_ended_once_they_can(
    at: Bench, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    await at.agent.session("s").call("propose", {"plan": "p"})
    with monkeypatch.context() as patched:
        patched.setattr(AuditRecorder, "healthy", False)
        if how == "expired":
            at.clock.ahead_s = 31 * 60
        else:
            await at.agent.session("s").close()
        assert await at.gateway.rooms.pipeline.endings.expire() == 0
        assert await at.gateway.rooms.store.pending.list_pending("s", at.clock.now()) == ()
        assert at.ledger.rejected == []
    await told(at)
    assert [one["reason"] for one in at.ledger.rejected] == [how]


@pytest.mark.req("PREV-13", "STATE-2")
@pytest.mark.parametrize("how", ["expired", "session closed"])
async def test_what_is_over_while_its_provider_is_not_reached_waits_for_whoever_reaches_it(
    at: Bench, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    pushed = (await at.agent.session("s").call("propose", {"plan": "p"})).pending
    assert pushed is not None
    pending, endings_ = at.gateway.rooms.store.pending, at.gateway.rooms.pipeline.endings
    with monkeypatch.context() as patched:
        patched.setattr(type(at.gateway.rooms.directory), "reached", lambda _: frozenset())
        if how == "expired":
            at.clock.ahead_s = 30 * 60 + 1
        else:
            await at.agent.session("s").close()
        assert await endings_.expire() == 0
        assert await pending.claim_pending(pushed.pending_id, "me", at.clock.now()) is None
        assert at.ledger.rejected == []
    await told(at)
    assert [one["reason"] for one in at.ledger.rejected] == [how]


@pytest.mark.req("PREV-13")
async def test_a_gateway_that_drains_expires_nothing(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: endings.Endings) -> int:
        pytest.fail("it is about to exit")

    at.gateway.rooms.pipeline.draining = True
    monkeypatch.setattr(endings.Endings, "expire", never)
    await at.gateway._expire_pending()


@pytest.mark.req("PREV-13", "PREV-8")
async def test_a_session_that_cannot_be_read_at_first_is_read_again_before_its_provider_is_told(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "PAUSES_S", (0.0, 0.0))
    find, asked = SessionBook.any, []

    async def failing(book: SessionBook, session_id: str) -> LiveSession:
        asked.append(session_id)
        if len(asked) <= 2:
            raise StateUnavailableError("the database cannot be read")
        return await find(book, session_id)

    await at.agent.session("s").call("propose", {"plan": "p"})
    monkeypatch.setattr(SessionBook, "any", failing)
    at.clock.ahead_s = 31 * 60
    await told(at)
    assert len(asked) == 3
