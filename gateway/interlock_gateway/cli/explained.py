"""Everything that is shown about one decision: what was decided, what was recorded, and what would change it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from interlock_gateway.cli.explaining import Explanation
from interlock_gateway.cli.recorded_decision import RecordedDecision
from interlock_gateway.core.decision import Reason, Verdict
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.explain.exempting import ExemptionSeen, exemptions_seen, never_exempted
from interlock_gateway.policy.explain.origins import Origins
from interlock_gateway.policy.explain.report import SettingRead

_BY_PEOPLE = frozenset({Verdict.CHECKPOINT, Verdict.PREVIEW})


@dataclass(frozen=True)
class Explained:
    """One decision explained by the policies in `bundle`; `recorded` is the receipt's, when it was made before."""

    explanation: Explanation
    recorded: RecordedDecision | None
    bundle: PolicyBundle
    origins: Origins

    @property
    def exemptions(self) -> tuple[ExemptionSeen, ...]:
        """The exemptions of the rules that fired, and what became of each."""
        rules = [one.rule for one in self.explanation.fired]
        call = self.explanation.document.get("call")
        at = call.get("time_unix_s") if isinstance(call, Mapping) else None
        notes = self.explanation.decision.notes
        return tuple(exemptions_seen(self._data, rules, notes, at if isinstance(at, int | float) else 0.0))

    @property
    def about(self) -> str:
        """Which call it is."""
        document = self.explanation.document
        if self.recorded is not None:
            record = self.recorded.record
            return f"{record.get('tool')} by {record.get('requested_by')}, {record.get('timestamp')}"
        tool, principal = document.get("tool", {}), document.get("principal", {})
        return f"{tool.get('name')} by {principal.get('id')}"

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons given for the decision: those recorded, when it was."""
        if self.recorded is None:
            return self.explanation.decision.reasons
        given = self.recorded.result.get("reasons", ())
        return tuple(Reason(*(str(one.get(name, "")) for name in ("code", "message", "rule"))) for one in given)

    @property
    def obligations(self) -> Mapping[str, Any]:
        """What the gateway was asked to do along with it."""
        return {name: value for name, value in asdict(self.explanation.decision.obligations).items() if value}

    @property
    def is_reproduced(self) -> bool:
        """Whether these policies decide now as it was recorded."""
        if self.recorded is None:
            return True
        decided = self.explanation.decision
        said = {str(one.get("rule")) for one in self.recorded.result.get("reasons", ())}
        same = self.recorded.result.get("verdict") == decided.verdict.value
        return same and said == {reason.rule for reason in decided.reasons}

    @property
    def cautions(self) -> Iterator[str]:
        """What to keep in mind when reading it."""
        if self.explanation.unexplained:
            yield f"the rules could not be looked into: {self.explanation.unexplained}"
        if self.recorded is None:
            return
        if self.recorded.caveat:
            yield self.recorded.caveat
        if not self.is_reproduced and not self.recorded.gateway_reasons:
            now = self.explanation.decision
            rules = ", ".join(sorted({reason.rule for reason in now.reasons}))
            yield f"these policies decide {now.verdict.value} now ({rules}): what follows explains that"

    @property
    def policies(self) -> str:
        """Which policies explain it, and whether they are those that decided."""
        said = f"{self.bundle.revision}, profile {self.bundle.profile}, as configured here"
        if self.recorded is None:
            return said
        if self.recorded.revision == self.bundle.revision:
            return f"{said}; they decided this call, and are in force"
        return f"{said}; the call was decided by {self.recorded.revision or 'none'}, which is not in force any more"

    def origin(self, setting: SettingRead) -> str:
        """Who set a setting."""
        return self.origins.of(setting)

    def changes(self) -> Iterator[str]:
        """What would lead to another decision, one sentence each; nothing for a call that is simply allowed."""
        decision = self.explanation.decision
        if decision.verdict is Verdict.ALLOW or self.explanation.unexplained:
            return
        deciding = self.explanation.deciding
        if not deciding:
            yield "nothing allows this call: a rule has to, such as those above that nearly did"
            return
        names = [rule.rule for rule in deciding]
        yield f"without {' and '.join(names)} it would be: {self._after(names)}"
        if decision.verdict in _BY_PEOPLE:
            yield "a person's approval answers it, this once"
        for one in self.exemptions:
            if one.rule in names:
                yield f"exemption {one.id} of {one.rule} ({one.owner}, until {one.expires}): {one.standing}"
        refused = {name: reason for name in names if (reason := never_exempted(self._data, name))}
        yield from (f"{name} is never exempted: {reason}" for name, reason in refused.items())
        free = [name for name in names if name not in refused and name not in {one.rule for one in self.exemptions}]
        if free:
            yield f"an overlay's exemption of {' and of '.join(free)}: rule, scope, reason, owner, expires"

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        explanation = self.explanation
        fired = [{**asdict(one), "settings": [self._setting(it) for it in one.settings]} for one in explanation.fired]
        near = [{**asdict(one), "settings": [self._setting(it) for it in one.settings]} for one in explanation.near]
        return {
            "decision": asdict(explanation.decision),
            "fired": fired,
            "near": near,
            "findings": list(explanation.findings),
            "exemptions": [asdict(one) for one in self.exemptions],
            "changes": list(self.changes()),
            "cautions": list(self.cautions),
            "policy": {"revision": self.bundle.revision, "profile": self.bundle.profile},
            "recorded": self._recorded(),
            "input": explanation.document,
        }

    def _after(self, names: list[str]) -> str:
        after = self.explanation.without(names)
        return f"{after.value}, nothing allows it" if after is Verdict.DENY else after.value

    @cached_property
    def _data(self) -> Mapping[str, Any]:
        data = json.loads(self.bundle.data_json)
        return data if isinstance(data, dict) else {}

    def _setting(self, setting: SettingRead) -> dict[str, Any]:
        return {**asdict(setting), "set_by": self.origin(setting)}

    def _recorded(self) -> dict[str, Any] | None:
        if self.recorded is None:
            return None
        return {
            "decision_id": self.recorded.decision_id,
            "revision": self.recorded.revision,
            "in_force": self.recorded.revision == self.bundle.revision,
            "reproduced": self.is_reproduced,
            "result": self.recorded.result,
            "erased": self.recorded.erased,
            "masked": self.recorded.masked,
        }
