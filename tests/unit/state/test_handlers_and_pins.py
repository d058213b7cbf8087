import pytest
from interlock_gateway.core.outcome import StandingHandler
from interlock_gateway.pipeline.ports import Consent, StateConflictError
from interlock_gateway.registry.pins import Pin
from interlock_gateway.state.store import SqlStateStore
from state_records import a_session

HANDLER = StandingHandler("plans", "token-1", "Plan", has_reject=True, details={"steps": 3})


@pytest.mark.req("PREV-12")
async def test_a_session_has_one_standing_handler_until_it_is_cleared(store: SqlStateStore) -> None:
    await store.sessions.ensure_session(a_session("t"))
    assert await store.handlers.get_handler("s") is None

    await store.handlers.set_handler("s", StandingHandler("plans", "token-0", "Old plan"))
    await store.handlers.set_handler("s", HANDLER)

    assert await store.handlers.get_handler("s") == HANDLER
    assert await store.handlers.get_handler("t") is None
    await store.handlers.clear_handler("s")
    await store.handlers.clear_handler("s")
    assert await store.handlers.get_handler("s") is None


async def test_a_standing_handler_needs_a_session(store: SqlStateStore) -> None:
    with pytest.raises(StateConflictError):
        await store.handlers.set_handler("nobody", HANDLER)


@pytest.mark.req("TOOL-5")
async def test_pins_survive_a_restart_and_the_last_one_of_a_tool_stays(url: str, store: SqlStateStore) -> None:
    first = Pin("files", "write", "1" * 64, '{"name":"wríte"}', 1.0, "first use")
    second = Pin("files", "write", "2" * 64, "{}", 2.0, "alice")
    other = Pin("mail", "send", "3" * 64, "{}", 1.0, "first use")
    for pin in (first, other):
        await store.pins.save_pin(pin)
    assert await store.pins.load_pins() == (first, other)
    await store.pins.save_pin(second)
    await store.close()

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        assert await restarted.pins.load_pins() == (second, other)
        await restarted.pins.forget_pins("files")
        assert await restarted.pins.load_pins() == (other,)


@pytest.mark.req("TOOL-3")
async def test_a_consent_is_remembered_with_what_was_shown(url: str, store: SqlStateStore) -> None:
    consent = Consent("files", "1" * 64, "alice", 1.0, '[{"tool":"wríte"}]')
    await store.pins.save_consent(consent)
    await store.close()

    async with await SqlStateStore.open(url, replica_id="r1") as restarted:
        assert await restarted.pins.load_consents() == (consent,)
        again = Consent("files", "1" * 64, "bob", 2.0, "[]")
        await restarted.pins.save_consent(again)
        assert await restarted.pins.load_consents() == (again,)
