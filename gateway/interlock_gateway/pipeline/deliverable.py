"""What an agent writes when it challenges its own call: its form, and what is wrong with one (REV-1, REV-3)."""

from interlock_gateway.core.call import ReflectionForm
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject, JsonValue
from interlock_gateway.pipeline.bind import call_digest
from interlock_gateway.pipeline.run import CallRun

MAX_BYTES = 64 * 1024
PROCEED = "proceed"
_VERDICTS = (PROCEED, "revise", "abort")
_ENTRY: JsonObject = {"type": "string", "pattern": r"\S"}
_ENTRIES: JsonObject = {"type": "array", "minItems": 1, "items": _ENTRY}
SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "hidden_assumptions": {**_ENTRIES, "description": "What this call takes for granted."},
        "failure_scenarios": {**_ENTRIES, "description": "How this call could go wrong."},
        "verdict": {"enum": list(_VERDICTS), "description": "Whether to go on with it."},
        "verdict_reason": {**_ENTRY, "description": "Why."},
    },
    "required": ["hidden_assumptions", "failure_scenarios", "verdict", "verdict_reason"],
    "additionalProperties": False,
}
INSTRUCTIONS = (
    "Think this call through in reverse before it is made: assume that it went wrong, and say why. Then make the very "
    "same call again, with the same input, and with a `deliverable`: at least one hidden assumption, at least one "
    "failure scenario, a verdict (proceed, revise or abort) and the reason for it. Nothing has run yet."
)


def problems_of(deliverable: FrozenJsonObject) -> list[str]:
    """What is wrong with a deliverable, in words a model can mend; empty when nothing is."""
    problems = [
        f"{name} needs at least one entry, and none that is blank"
        for name in ("hidden_assumptions", "failure_scenarios")
        if not _entries(deliverable.get(name))
    ]
    if deliverable.get("verdict") not in _VERDICTS:
        problems.append(f"verdict is one of {', '.join(_VERDICTS)}")
    if not _said(deliverable.get("verdict_reason")):
        problems.append("verdict_reason is missing or blank")
    if not problems and _size(deliverable) > MAX_BYTES:
        problems.append(f"it has more than {MAX_BYTES} bytes")
    return problems


def form_for(run: CallRun) -> ReflectionForm:
    """The form to fill in, bound to the call by its digest."""
    digest = run.digest or call_digest(run, run.document, run.decided.policy_revision)
    return ReflectionForm(INSTRUCTIONS, SCHEMA, digest)


def _entries(value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(_said(entry) for entry in value)


def _said(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _size(deliverable: FrozenJsonObject) -> int:
    texts = [text for value in deliverable.values() for text in (value if isinstance(value, list) else [value])]
    return sum(len(str(text).encode("utf-8", "surrogatepass")) for text in texts)
