"""What a session keeps in memory is bounded, and survives a round trip through the database."""

from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.session import Session
from interlock_gateway.core.sessionfacts import PREVIOUS_KEPT, SessionFacts
from interlock_gateway.sessions.live import REMEMBERED_BYTES, REMEMBERED_CALLS, LiveSession


def result(size: int) -> CallResult:
    return CallResult("c", CallStatus.COMPLETED, content=(Text("x" * size),))


def test_remembered_answers_are_bounded_in_number_and_in_size() -> None:
    live = LiveSession(Session("s", "a", 0.0), SessionFacts())
    for n in range(200):
        live.remember(f"c{n}", "d", result(10))
    assert len(live.remembered) == REMEMBERED_CALLS
    for n in range(20):
        live.remember(f"large{n}", "d", result(REMEMBERED_BYTES // 4))
    assert live.remembered_bytes <= REMEMBERED_BYTES
    assert live.remembered_bytes == sum(kept.weight for kept in live.remembered.values())
    live.remember("huge", "d", result(REMEMBERED_BYTES + 1))
    assert not live.remembered


TOOLS = st.sampled_from(["read", "write", 'a "quoted" one'])


@given(st.lists(st.tuples(TOOLS, st.booleans(), st.sampled_from(["completed", "denied"])), max_size=80))
def test_session_facts_survive_being_kept(calls: list[tuple[str, bool, str]]) -> None:
    facts = SessionFacts(taints={"untrusted"})
    for tool, destructive, status in calls:
        facts.count_call(tool, destructive=destructive, status=status)
        facts.remember(tool, "mutating", {"label": "x"} if destructive else {})
        if status == "denied":
            facts.count_denial("why")
    again = SessionFacts.from_json(facts.to_json())
    assert again == facts
    assert len(again.previous) <= PREVIOUS_KEPT
