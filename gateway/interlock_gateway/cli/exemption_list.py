"""Exemptions as `interlock policy check` shows them."""

from dataclasses import asdict, dataclass
from typing import Any

from interlock_gateway.cli.jsonable import to_json
from interlock_gateway.cli.screen import Block, Table, Text
from interlock_gateway.policy.standing import LoadedExemption, warnings


@dataclass(frozen=True, slots=True)
class ExemptionList:
    """The exemptions of a set of policies, as they stand at `now`, in Unix seconds."""

    exemptions: tuple[LoadedExemption, ...]
    now: float

    def shown(self) -> dict[str, Any]:
        """For programs: each exemption, and what there is to warn of."""
        return {
            "exemptions": [{**asdict(one), "standing": one.standing(self.now).value} for one in self.exemptions],
            "warnings": warnings(self.exemptions, self.now),
        }

    def blocks(self) -> list[Block]:
        """For people; nothing when there are none."""
        if not self.exemptions:
            return []
        rows = [
            (one.id, one.rule, _scope(one), one.becomes, one.owner, one.expires, one.standing(self.now).value)
            for one in self.exemptions
        ]
        columns = ("exemption", "rule", "covers", "becomes", "owner", "until", "standing")
        said = "\n".join(f"warning: {problem.message}" for problem in warnings(self.exemptions, self.now))
        return [Table(columns, rows), *([Text(said)] if said else [])]


def _scope(exemption: LoadedExemption) -> str:
    return exemption.scope if isinstance(exemption.scope, str) else to_json(exemption.scope, indent=None)
