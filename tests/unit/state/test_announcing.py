"""Changes as notifications."""

import pytest
from interlock_gateway.core.change import EVERYTHING, Change, Topic
from interlock_gateway.state.announcing import MAX_PAYLOAD, changes_in, payloads_of


def test_what_does_not_fit_into_one_notification_is_told_in_several() -> None:
    changes = [Change(Topic.CALL, "s" * 128, f"{n}" + "é" * 120) for n in range(100)]

    payloads = list(payloads_of("me", changes))

    assert len(payloads) > 1
    assert all(len(payload.encode()) <= MAX_PAYLOAD for payload in payloads)
    assert [change for payload in payloads for change in changes_in(payload, told_by="you")] == changes
    assert [change for payload in payloads for change in changes_in(payload, told_by="me")] == []


def test_a_change_that_fits_into_no_notification_is_told_as_any_change() -> None:
    huge, small = Change(Topic.CALL, "s", "\x00" * 9000), Change(Topic.CALL, "s", "c")

    payloads = list(payloads_of("me", [small, huge, small]))

    assert all(len(payload) <= MAX_PAYLOAD for payload in payloads)
    assert [change for payload in payloads for change in changes_in(payload, told_by="you")] == [small, EVERYTHING]


@pytest.mark.parametrize("payload", ["", "[]", "{}", '{"from":"x","changes":[["call"]]}', '{"from":1,"changes":7}'])
def test_what_cannot_be_read_may_have_been_anything(payload: str) -> None:
    assert changes_in(payload, told_by="me") == (EVERYTHING,)


def test_a_topic_of_a_newer_version_is_passed_over() -> None:
    payload = '{"from":"x","changes":[["weather","s","k"],["call","s","c"]]}'

    assert changes_in(payload, told_by="me") == (Change(Topic.CALL, "s", "c"),)
