"""Everything that is shown about one decision: what was decided, what was recorded, and what would change it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from interlock_gateway.cli.explaining import Explanation
from interlock_gateway.cli.recorded_decision import RecordedDecision
from interlock_gateway.cli.unknown_facts import touched, unknowns
from interlock_gateway.core.decision import Reason, Verdict
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.explain.exempting import NOT_COVERED, ExemptionSeen, exemptions_seen, never_exempted
from interlock_gateway.policy.explain.origins import Origins
from interlock_gateway.policy.explain.report import FiredRule, SettingRead, setting_path

_ANSWERS = {
    Verdict.CHECKPOINT: ("a person's approval lets this call through (interlock checkpoints)",),
    Verdict.PREVIEW: ("resolve, once the preview was looked at, applies or discards it",),
    Verdict.REFLECT: ("the deliverable of reverse thinking, sent with the call",),
}


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
    def unknown(self) -> tuple[str, ...]:
        """What is not known of a call that is not allowed, besides what the reasons say themselves."""
        if self.explanation.decision.verdict is Verdict.ALLOW:
            return ()
        said = [reason.message for reason in self.reasons]
        return tuple(
            one for one in unknowns(self.explanation.document) if not any(_end(one) in words for words in said)
        )

    @property
    def touched(self) -> tuple[str, ...]:
        """The files on account of which a script is asked about, where no reason names them."""
        if self.explanation.decision.verdict is not Verdict.CHECKPOINT:
            return ()
        return touched(self.explanation.document)

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

    @property
    def directory(self) -> str:
        """Where the files of the shipped rules lie; empty when others decide."""
        return self.origins.directory

    def origin(self, setting: SettingRead) -> str:
        """Who set a setting."""
        return self.origins.of(setting)

    def set_at(self, setting: SettingRead) -> str:
        """The same, with the line in an overlay."""
        return self.origins.place(setting)

    def changes(self, *, own_settings: bool = True) -> Iterator[str]:
        """What would lead to another decision, one sentence each; nothing for a call that is simply allowed.

        Without `own_settings` those are left out that the rules' lines name with their places.
        """
        decision = self.explanation.decision
        if decision.verdict is Verdict.ALLOW or self.explanation.unexplained:
            return
        deciding = self.explanation.deciding
        if not deciding:
            yield "nothing allows this call: a rule has to, such as those above that nearly did"
            return
        yield from _ANSWERS.get(decision.verdict, ())
        if own_settings:
            yield from dict.fromkeys(change for rule in deciding for change in self._settings_to_change(rule))
        yield from self._exempting([rule.rule for rule in deciding])

    def _settings_to_change(self, rule: FiredRule) -> Iterator[str]:
        """The settings that are the operator's own, and that made a rule say what it says."""
        for one in rule.settings:
            named = setting_path(one)
            needed = f" ({one.needed} would do)" if one.needed is not None else ""
            if one.decides and self.origins.is_of_an_overlay(one):
                yield f"your own setting, {self.origins.place(one)}: {named}{needed}"
            elif one.decides and self.origin(one).startswith("profile "):
                yield f"another {self.origin(one)} (policy.profile): it sets {named}{needed}"
            elif one.name.partition(".")[0] == rule.rule.partition("/")[0] and (reason := self.origins.free(one)):
                yield f"{named} is yours to fill: {reason}"

    def _exempting(self, names: list[str]) -> Iterator[str]:
        """The exemptions that there are of the rules that decided, and what one more would do."""
        for one in self.exemptions:
            if one.rule in names:
                scope = f"; its scope is {one.scope}" if one.standing == NOT_COVERED else ""
                yield f"exemption {one.id} of {one.rule} ({one.owner}, until {one.expires}): {one.standing}{scope}"
        refused = {name: reason for name in names if (reason := never_exempted(self._data, name))}
        yield from (f"{name} is never exempted: {reason}" for name, reason in refused.items())
        if refused:
            return
        verdict, rules = self.explanation.exempting(names)
        then = verdict.value if verdict is Verdict.ALLOW or not rules else f"{verdict.value}, by {', '.join(rules)}"
        yield f"an exemption of {' and of '.join(names)} in an overlay; then it is: {then}"

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
            "unknown": list(self.unknown),
            "touched": list(self.touched),
            "cautions": list(self.cautions),
            "policy": {"revision": self.bundle.revision, "profile": self.bundle.profile},
            "recorded": self._recorded(),
            "input": explanation.document,
        }

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


def _end(unknown: str) -> str:
    """What a sentence about something unknown says of its cause: a reason may say as much."""
    return unknown.rpartition(": ")[2]
