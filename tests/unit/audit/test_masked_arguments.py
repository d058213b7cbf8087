"""Arguments that policy wants out of the evidence are not in it, nor what was found out about them (AUD-1)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import ManualClock
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.receipt import ReceiptFacts
from interlock_gateway.core.decision import Obligations
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.pending import ResolutionNote
from test_audit_receipt import DECISION, facts, stored

AT = "/input/call/input"
MARK = "[redacted:policy]"
GIVEN = {"content": "John has flu", "to": [{"name": "Ann", "id": 1}, {"name": "Bo"}], "path": "a"}
# What `redact` says, what is left of the arguments, and where something was masked.
CASES: dict[str, tuple[tuple[str, ...], object, list[str]]] = {
    "one": ((f"{AT}/content",), {**GIVEN, "content": MARK}, [f"{AT}/content"]),
    "within": ((f"{AT}/to/0",), {**GIVEN, "to": [MARK, {"name": "Bo"}]}, [f"{AT}/to/0"]),
    "of each": ((f"{AT}/to/*/name",), {**GIVEN, "to": [{"name": MARK, "id": 1}, {"name": MARK}]}, [f"{AT}/to/*/name"]),
    "all": ((AT,), MARK, [AT]),
    "two": ((f"{AT}/content", f"{AT}/path"), {**GIVEN, "content": MARK, "path": MARK}, [f"{AT}/content", f"{AT}/path"]),
}


def asking(*redact: str, call_input: bytes = json.dumps(GIVEN).encode(), **more: object) -> ReceiptFacts:
    return facts(call_input, decision=replace(DECISION, obligations=Obligations(redact=redact)), **more)


def call_of(record: JsonObject) -> JsonObject:
    document = record["input"]
    assert isinstance(document, dict)
    call = document["call"]
    assert isinstance(call, dict)
    return call


@pytest.mark.req("AUD-1")
@pytest.mark.parametrize("case", CASES)
async def test_what_policy_masks_is_not_written(
    directory: Path, key: SigningKey, clock: ManualClock, case: str
) -> None:
    redact, left, places = CASES[case]
    record = await stored(asking(*redact), directory, key, clock)
    call = call_of(record)
    assert call["input"] == left
    assert call["facts"] == {}
    assert record["masked"] == [*places, "/input/call/facts"]


@pytest.mark.req("AUD-1")
@pytest.mark.parametrize("pointer", ["/content", f"{AT}put/content", f"{AT}/nothing", f"{AT}/to/name"])
async def test_what_it_does_not_name_stays(directory: Path, key: SigningKey, clock: ManualClock, pointer: str) -> None:
    record = await stored(asking(pointer), directory, key, clock)
    assert call_of(record) == {"id": "c-1", "facts": {"class": "file"}, "input": GIVEN}
    assert "masked" not in record


@pytest.mark.req("AUD-1", "SEC-4")
async def test_secrets_are_listed_beside_what_policy_masks(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    raw = json.dumps({"content": "John", "more": "AKIAIOSFODNN7EXAMPLQ"}).encode()
    made = asking(f"{AT}/content", call_input=raw, policy_input=b'{"call":{"input":%b}}' % raw)
    record = await stored(made, directory, key, clock)
    assert record["masked"] == [f"{AT}/content", f"{AT}/more"]
    assert "AKIA" not in json.dumps(record)


@pytest.mark.req("AUD-1")
async def test_of_a_large_input_nothing_is_found_out_either(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    raw = json.dumps({"content": "x" * 5000}).encode()
    document = b'{"call":{"facts":{"class":"file"},"input":%b}}' % raw
    record = await stored(asking(AT, call_input=raw, policy_input=document), directory, key, clock)
    assert record["input"] == {"call": {"facts": {}, "input": MARK}}
    assert (record["erased"], record["masked"]) == ([AT], [AT, "/input/call/facts"])


@pytest.mark.req("AUD-1")
async def test_of_an_input_that_was_padded_nothing_is_found_out(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    raw = json.dumps({"content": "flu", "more": "x" * 5000}).encode()
    document = b'{"call":{"facts":{"class":"file","of":"flu"},"input":%b}}' % raw
    record = await stored(asking(f"{AT}/content", call_input=raw, policy_input=document), directory, key, clock)
    assert "flu" not in json.dumps(record)
    assert (record["erased"], record["masked"]) == ([AT], ["/input/call/facts"])


@pytest.mark.req("AUD-1")
@pytest.mark.parametrize("pointer", [AT, f"{AT}/sure"])
async def test_a_confidence_is_not_said_again(
    directory: Path, key: SigningKey, clock: ManualClock, pointer: str
) -> None:
    raw = b'{"sure":61}'
    document = b'{"call":{"confidence_field":"sure","confidence":61,"input":%b}}' % raw
    record = await stored(asking(pointer, call_input=raw, policy_input=document), directory, key, clock)
    assert "61" not in json.dumps(call_of(record))
    assert record["masked"] == [pointer, "/input/call/confidence"]


@pytest.mark.req("AUD-1")
async def test_what_is_said_of_a_pending_action_is_masked_as_what_resolve_was_given(
    directory: Path, key: SigningKey, clock: ManualClock
) -> None:
    said = ResolutionNote(action="apply", reason="flu", extra={"of": "flu", "other": "well"})
    raw = b'{"reason":"flu","extra":{"of":"flu","other":"well"}}'
    document = b'{"call":{"input":%b}}' % raw
    made = asking(f"{AT}/reason", f"{AT}/extra/of", call_input=raw, policy_input=document, resolution=said)
    record = await stored(made, directory, key, clock)
    assert record["resolution"] == {"action": "apply", "reason": MARK, "extra": {"of": MARK, "other": "well"}}
    places = [f"{AT}/reason", f"{AT}/extra/of", "/resolution/reason", "/resolution/extra/of"]
    assert record["masked"] == places
