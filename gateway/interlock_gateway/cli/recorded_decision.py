"""A decision that the gateway recorded, found by its id in the receipts on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.audit.read import StoredRecord, find_decision
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError

_INPUT = "/input/"


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """What a receipt says about a decision.

    `document` is what policy saw, `None` when it was not asked. `left_out` are JSON pointers into the document to what
    stands there in place of something else: `erased` because it was large, `masked` because it was secret.
    """

    decision_id: str
    record: Mapping[str, Any]
    document: Mapping[str, Any] | None
    erased: tuple[str, ...]
    masked: tuple[str, ...]

    @property
    def revision(self) -> str:
        """The revision of the policies that decided."""
        bundles = self.record.get("bundles", {})
        return str(bundles.get("interlock", {}).get("revision", ""))

    @property
    def result(self) -> Mapping[str, Any]:
        """The decision as it was recorded."""
        found = self.record.get("result")
        return found if isinstance(found, dict) else {}

    @property
    def gateway_reasons(self) -> tuple[Mapping[str, Any], ...]:
        """The reasons that are the gateway's own, no rule's."""
        return tuple(one for one in self.result.get("reasons", ()) if one.get("rule") == "gateway")

    @property
    def caveat(self) -> str:
        """What is not as it was when the call was decided; empty when everything is."""
        if self.document is None:
            return ""
        said = []
        if self.erased:
            said.append("the call's input was too large for the receipt: its digest stands in its place")
        if self.masked:
            said.append(f"secrets are masked in {', '.join(self.masked)}")
        if not said:
            return ""
        return f"{'; '.join(said)}. Rules that look there may say something else than they did."


def recorded_decision(directory: Path, decision_id: str) -> RecordedDecision:
    """The decision of this id. Raises `CommandError` when no receipt names it."""
    if Path(decision_id).is_file():
        words = f"{decision_id} is a file; a call that is described in one is given as @{decision_id}"
        raise CommandError(words, ExitCode.USAGE)
    if not directory.is_dir():
        raise CommandError(f"there are no receipts in {directory}: no such directory", ExitCode.USAGE)
    found = find_decision(directory, decision_id)
    if not found:
        words = f"no receipt in {directory} is about a decision {decision_id}"
        raise CommandError(f"{words}; `interlock audit query` lists those there are", ExitCode.USAGE)
    return _recorded(decision_id, found[-1])


def _recorded(decision_id: str, stored: StoredRecord) -> RecordedDecision:
    document = stored.record.get("input")
    return RecordedDecision(
        decision_id=decision_id,
        record=stored.record,
        document=document if isinstance(document, dict) else None,
        erased=_pointers(stored.record.get("erased")),
        masked=_pointers(stored.record.get("masked")),
    )


def _pointers(given: Any) -> tuple[str, ...]:
    listed = given if isinstance(given, list) else []
    return tuple(one.removeprefix("/input") for one in map(str, listed) if one.startswith(_INPUT))
