"""A decision with everything that led to it: rules that fired, also overruled ones, and rules that nearly did."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.decision import Decision, DecisionError, Verdict, denial_for_failure
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.explain.report import FiredRule, NearRule, Report
from interlock_gateway.policy.inspection import InspectionError, explain

# Reading all policies and evaluating them a few hundred times takes longer than deciding once.
_LOOKING_S = 20.0
_STRICTEST_FIRST = (Verdict.DENY, Verdict.REFLECT, Verdict.CHECKPOINT, Verdict.PREVIEW, Verdict.ALLOW)
_NO_REPORT = Report()
_ORDER = {verdict.value: place for place, verdict in enumerate(_STRICTEST_FIRST)}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision about `document`, and what rules had to say.

    `unexplained` says why there is no report: the policies could not be looked into.
    """

    decision: Decision
    document: Mapping[str, Any]
    report: Report = _NO_REPORT
    unexplained: str = ""

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """The findings of every rule that fired, as the rules gave them, the strictest first."""
        found = (finding for rule in self.report.fired for finding in rule.findings)
        return tuple(sorted(found, key=lambda one: (strictness(one.get("verdict")), str(one.get("rule")))))

    @property
    def fired(self) -> tuple[FiredRule, ...]:
        """The rules that fired, the strictest first."""
        return tuple(sorted(self.report.fired, key=lambda one: (min(map(strictness, verdicts(one))), one.rule)))

    @property
    def near(self) -> tuple[NearRule, ...]:
        """The rules that nearly fired, those first that would have changed most about this decision."""
        return tuple(sorted(self.report.near, key=self._remoteness))

    @property
    def deciding(self) -> tuple[FiredRule, ...]:
        """The rules that fired and gave the verdict: those that are overruled or exempted did not."""
        wanted = self.decision.verdict.value
        names = {one.get("rule") for one in self._heard if one.get("verdict") == wanted}
        return tuple(one for one in self.fired if one.rule in names)

    def exempting(self, rules: Iterable[str]) -> tuple[Verdict, tuple[str, ...]]:
        """What would be decided if exemptions allowed what some rules object to, and the rules that would decide it."""
        left = [one for one in self._heard if one.get("rule") not in frozenset(rules)]
        found = {str(one.get("verdict")) for one in left} | {Verdict.ALLOW.value}
        verdict = next(verdict for verdict in _STRICTEST_FIRST if verdict.value in found)
        return verdict, tuple(sorted({str(one.get("rule")) for one in left if one.get("verdict") == verdict.value}))

    @property
    def _heard(self) -> tuple[Mapping[str, Any], ...]:
        return self.report.heard or self.findings

    def _remoteness(self, near: NearRule) -> tuple[bool, bool, int, str]:
        return near.verdict == "none", not self.would_matter(near), -near.held, near.rule

    def would_matter(self, near: NearRule) -> bool:
        """Of a call that is not allowed one asks what would have; of one that is, what would have stopped it."""
        if self.decision.verdict is Verdict.ALLOW:
            return strictness(near.verdict) < strictness(Verdict.ALLOW.value) and not near.off
        return near.verdict == Verdict.ALLOW.value and not near.off


def strictness(verdict: object) -> int:
    """0 for the strictest verdict; what is none comes behind all."""
    return _ORDER.get(str(verdict), len(_ORDER))


def verdicts(rule: FiredRule) -> tuple[str, ...]:
    """What a rule that fired asks for."""
    return tuple(str(one.get("verdict")) for one in rule.findings) or ("",)


def explain_decision(bundle: PolicyBundle, document: Mapping[str, Any], timeout_s: float) -> Explanation:
    """Decide about one call the way the gateway would, and find out why: what fails is a denial, with its code."""
    text = json.dumps(document, ensure_ascii=False)
    decision = asyncio.run(_decided(bundle, text.encode(), timeout_s))
    try:
        return Explanation(decision, document, explain(bundle, text, timeout_s + _LOOKING_S))
    except InspectionError as error:
        return Explanation(decision, document, unexplained=str(error))


async def _decided(bundle: PolicyBundle, raw: bytes, timeout_s: float) -> Decision:
    engine = EmbeddedEngine(bundle, PoolSettings(workers=1, most_workers=1, timeout_s=timeout_s))
    await engine.start()
    try:
        answer = await engine.evaluate(raw)
        return read_decision(answer.document, decision_id="", policy=bundle.policy)
    except DecisionError as error:
        return denial_for_failure("", error.code, error.message, revision=bundle.revision, profile=bundle.profile)
    finally:
        await engine.close()
