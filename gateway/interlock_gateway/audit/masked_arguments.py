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


def masked_input(policy_input: JsonValue | RawJson, pointers: Sequence[str]) -> tuple[JsonObject, list[JsonValue]]:
    """What policy saw, without the arguments that `pointers` name, and where something is masked.

    What was found out about the arguments goes with any of them: it says the same in other words.
    """
    document: Any = json.loads(policy_input.text) if isinstance(policy_input, RawJson) else policy_input
    call = document["call"]
    given, places = call["input"], list[JsonValue]()
    for pointer in pointers:
        given, masking = mask(given, [parse_pointer(pointer.removeprefix(ARGUMENTS))], MARK)
        if masking.count:
            places.append(pointer)
    if places:
        call["input"] = given
        if call.get("facts"):
            call["facts"] = {}
            places.append("/input/call/facts")
    return document, places
