"""Metrics of the artifact store: how much there is, what was removed and why, and whether sweeping works (ART-4)."""

from interlock_gateway.artifacts.keeping import Upkeep
from interlock_gateway.telemetry.metrics import Metrics


def watch_artifacts(metrics: Metrics, upkeep: Upkeep) -> None:
    """Show them. What is stored is of all gateways that share the store; the rest is this one's doing."""

    def stored() -> dict[tuple[str, ...], float]:
        return {} if upkeep.usage is None else {(): upkeep.usage.count}

    def stored_bytes() -> dict[tuple[str, ...], float]:
        return {} if upkeep.usage is None else {(): upkeep.usage.size}

    def largest() -> dict[tuple[str, ...], float]:
        return {} if upkeep.usage is None else {(): max(upkeep.usage.by_owner.values(), default=0)}

    def swept_at() -> dict[tuple[str, ...], float]:
        return {} if upkeep.last_swept_at is None else {(): upkeep.last_swept_at}

    metrics.watch("interlock_artifacts_stored", "Artifacts in the store, as counted last.", stored)
    metrics.watch("interlock_artifact_stored_bytes", "Bytes in the artifact store, as counted last.", stored_bytes)
    metrics.watch(
        "interlock_artifact_largest_principal_bytes",
        "Bytes in the artifact store of the principal that has most, as counted last.",
        largest,
    )
    metrics.watch_total(
        "interlock_artifacts_refused",
        "Results that this gateway did not keep whole, by the limit that was reached.",
        lambda: {(limit.value,): count for limit, count in upkeep.refused.items()},
        "limit",
    )
    metrics.watch_total(
        "interlock_artifacts_removed",
        "Artifacts that this gateway removed from the store, by why.",
        lambda: {(reason.value,): count for reason, count in upkeep.removed.items()},
        "reason",
    )
    metrics.watch_total(
        "interlock_artifact_removed_bytes",
        "Bytes that this gateway removed from the store, by why.",
        lambda: {(reason.value,): size for reason, size in upkeep.removed_bytes.items()},
        "reason",
    )
    metrics.watch_total(
        "interlock_artifact_sweeps",
        "Sweeps of the artifact store by this gateway.",
        lambda: {("done",): upkeep.sweeps, ("failed",): upkeep.failures},
        "outcome",
    )
    metrics.watch(
        "interlock_artifact_last_sweep_timestamp_seconds",
        "Unix time of the last sweep that ended well, whichever gateway's; absent before the first.",
        swept_at,
    )
