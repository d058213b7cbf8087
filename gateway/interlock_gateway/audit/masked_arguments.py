"""Arguments that policy wants out of the evidence: what the obligation `redact` says of the input (AUD-1).

They are named as receipts name what is masked in them: `/input/call/input/<argument>`.
"""

import json
from collections.abc import Sequence
from typing import Any

from interlock_gateway.audit.masking import RawJson
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.pointers import mask, parse_pointer

ARGUMENTS = "/input/call/input"
"""Where a call's arguments stand in a receipt."""
MARK = "[redacted:policy]"


def pointers_to_arguments(redact: Sequence[str]) -> tuple[str, ...]:
    """Those of an obligation's pointers that lead to arguments."""
    return tuple(one for one in redact if one == ARGUMENTS or one.startswith(f"{ARGUMENTS}/"))


def masked_input(
    policy_input: JsonValue | RawJson, pointers: Sequence[str], *, is_whole: bool
) -> tuple[JsonObject, list[JsonValue]]:
    """What policy saw, without the arguments that `pointers` name, and where something is masked.

    What was found out about the arguments goes with any of them: it says the same in other words. It goes as well where
    the arguments are not here to look at, because they were too large: `is_whole` is false then.
    """
    document: Any = json.loads(policy_input.text) if isinstance(policy_input, RawJson) else policy_input
    call = document["call"]
    call["input"], places = masked(call["input"], pointers, ARGUMENTS)
    if not places and is_whole:
        return document, places
    if call.get("facts"):
        call["facts"] = {}
        places.append("/input/call/facts")
    field = f"/{call.get('confidence_field')}"
    if "confidence" in call and any(one in {ARGUMENTS, f"{ARGUMENTS}{field}"} for one in pointers):
        del call["confidence"]
        places.append("/input/call/confidence")
    return document, places


def masked(value: JsonValue, pointers: Sequence[str], at: str) -> tuple[JsonValue, list[JsonValue]]:
    """A value at a place of the receipt without the arguments that `pointers` name in it, and where they were."""
    places = list[JsonValue]()
    for pointer in pointers:
        below = pointer.removeprefix(ARGUMENTS)
        value, masking = mask(value, [parse_pointer(below)], MARK)
        if masking.count:
            places.append(f"{at}{below}")
    return value, places
