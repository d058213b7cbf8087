"""A decision with everything that led to it: each rule that fired, also those that a stricter one overruled."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

from interlock_gateway.core.decision import Decision, DecisionError, Verdict, denial_for_failure
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool import PoolSettings

# In place of the package that puts the findings together: the findings themselves.
_PACKAGE = "package interlock\n"
_FINDINGS = f"""{_PACKAGE}
decision := {{"findings": found}}

found := data.interlock.rules.findings | overlay_findings

default overlay_findings := set()

overlay_findings := data.interlock.custom.findings
"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, and the findings of every rule that fired, as the rules gave them."""

    decision: Decision
    findings: tuple[dict[str, Any], ...]


def explain_decision(bundle: PolicyBundle, document: dict[str, Any], timeout_s: float) -> Explanation:
    """Decide about one call the way the gateway would: what fails is a denial, with the code of the failure."""
    return asyncio.run(_explain(bundle, json.dumps(document, ensure_ascii=False).encode(), timeout_s))


async def _explain(bundle: PolicyBundle, raw: bytes, timeout_s: float) -> Explanation:
    try:
        decision = read_decision(await _evaluate(bundle, raw, timeout_s), decision_id="", policy=bundle.policy)
        found = json.loads(await _evaluate(_findings_only(bundle), raw, timeout_s))
    except DecisionError as error:
        denial = denial_for_failure("", error.code, error.message, revision=bundle.revision, profile=bundle.profile)
        return Explanation(denial, ())
    return Explanation(decision, tuple(sorted(found["findings"], key=_by_strictness)))


async def _evaluate(bundle: PolicyBundle, raw: bytes, timeout_s: float) -> bytes:
    engine = EmbeddedEngine(bundle, PoolSettings(workers=1, most_workers=1, timeout_s=timeout_s))
    await engine.start()
    try:
        return (await engine.evaluate(raw)).document
    finally:
        await engine.close()


def _findings_only(bundle: PolicyBundle) -> PolicyBundle:
    rules = tuple((path, source) for path, source in bundle.modules if not _is_root(source))
    return replace(bundle, modules=(*rules, ("findings.rego", _FINDINGS)), revision=f"{bundle.revision}-findings")


def _is_root(source: str) -> bool:
    return any(line.rstrip() == _PACKAGE.rstrip() for line in source.splitlines())


_ORDER = {verdict.value: place for place, verdict in enumerate((
    Verdict.DENY, Verdict.REFLECT, Verdict.CHECKPOINT, Verdict.PREVIEW, Verdict.ALLOW,
))}  # fmt: skip


def _by_strictness(finding: dict[str, Any]) -> tuple[int, str]:
    return _ORDER.get(str(finding.get("verdict")), len(_ORDER)), str(finding.get("rule"))
