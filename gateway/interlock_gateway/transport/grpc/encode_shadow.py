"""From our own types to the protos: the candidate policy, and what it would have decided otherwise."""

from interlock.v1 import decision_pb2, policy_pb2

from interlock_gateway.operate.shadow_keeper import ShadowKeeper
from interlock_gateway.policy.shadow.difference import Difference, ShadowVerdict
from interlock_gateway.policy.shadow.evaluator import ShadowFigures
from interlock_gateway.transport.grpc.encode import timestamp


def status(keeper: ShadowKeeper) -> policy_pb2.ShadowStatus | None:
    """How the candidate compares; `None` when there is none."""
    evaluator = keeper.evaluator
    if evaluator is None:
        return policy_pb2.ShadowStatus(source=keeper.source, error=keeper.error) if keeper.error else None
    figures: ShadowFigures = evaluator.figures
    return policy_pb2.ShadowStatus(
        source=keeper.source,
        revision=evaluator.bundle.revision,
        since=timestamp(evaluator.since),
        evaluated=figures.evaluated,
        differed=figures.differed,
        skipped=figures.skips.total(),
        differences=[
            policy_pb2.VerdictDifference(active=active, candidate=candidate, count=count)
            for (active, candidate), count in figures.differences.most_common()
        ],
        profile=evaluator.bundle.profile,
        skips=[policy_pb2.ShadowSkip(why=why, count=count) for why, count in figures.skips.most_common()],
        error=keeper.error,
    )


def difference(found: Difference) -> policy_pb2.ShadowDifference:
    """One call that the candidate would have decided otherwise."""
    subject = found.subject
    return policy_pb2.ShadowDifference(
        time=timestamp(subject.time),
        decision_id=found.decision_id,
        session_id=subject.session_id,
        call_id=subject.call_id,
        tool=subject.tool,
        principal=subject.principal,
        active=_verdict(found.active),
        candidate=_verdict(found.candidate),
    )


def _verdict(said: ShadowVerdict) -> policy_pb2.ShadowVerdict:
    reasons = [decision_pb2.Reason(code=one.code, message=one.message, rule=one.rule) for one in said.reasons]
    return policy_pb2.ShadowVerdict(
        verdict=said.verdict, reasons=reasons, obligations=said.obligations, revision=said.revision
    )
