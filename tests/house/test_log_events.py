"""What the gateway logs is a closed list: constant sentences, named fields, and a meaning for each (OBS-2)."""

import pytest
from log_events import log_events
from log_meanings import ABOUT_THE_CALL, FIELDS, MEANINGS


@pytest.mark.req("OBS-2")
def test_every_message_is_a_constant_and_says_what_it_means() -> None:
    events = log_events()
    assert events
    assert not [event for event in events if not event.meaning]
    assert not MEANINGS.keys() - {event.message for event in events}


@pytest.mark.req("OBS-2")
def test_every_field_of_a_line_is_one_of_the_listed() -> None:
    used = {(event.message, field) for event in log_events() for field in event.fields}
    assert not [one for one in sorted(used) if one[1] not in FIELDS]
    assert not FIELDS.keys() - {field for _, field in used} - set(ABOUT_THE_CALL)


@pytest.mark.req("OBS-2")
def test_no_field_is_named_after_what_a_call_brings_or_takes() -> None:
    assert not FIELDS.keys() & {"argument", "arguments", "input", "output", "result", "args", "params", "token"}
