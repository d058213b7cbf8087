"""What is shown of the rooms around the calls; it is read when it is scraped, on the scrape's thread (OBS-1)."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import Info

from interlock_gateway.audit.log import AuditLog
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.telemetry.metrics import Metrics

MAX_PROVIDERS = 200
"""Providers shown one by one; of more, those that are down come first."""


def show_build(metrics: Metrics, version: str) -> None:
    """Show which version runs."""
    Info("interlock_build", "The gateway's version.", registry=metrics.registry).info({"version": version})


def watch_audit(metrics: Metrics, log: AuditLog) -> None:
    """Show how far the audit log is behind, and what it could not take."""
    metrics.watch("interlock_audit_backlog", "Receipts that wait to be written.", lambda: {(): log.backlog})
    metrics.watch(
        "interlock_audit_lag_seconds",
        "At most how old the oldest receipt is that is not on disk; 0 when all are.",
        lambda: {(): log.lag_s},
    )
    metrics.watch_total(
        "interlock_audit_receipts",
        "Receipts since the start, by what became of them.",
        lambda: {
            ("written",): log.stats.written,
            ("refused",): log.stats.refused,
            ("dropped",): log.stats.dropped,
            ("unwritable",): log.stats.unwritable,
        },
        "outcome",
    )
    metrics.watch_total(
        "interlock_audit_failed_writes",
        "Groups of receipts that could not be written; they are tried again.",
        lambda: {(): log.stats.failed_groups},
    )


def watch_policy(metrics: Metrics, activated_at: Callable[[], float | None], from_disk: Callable[[], bool]) -> None:
    """Show since when the active policy is in force, and whether it is one from disk in place of its source's."""
    metrics.watch(
        "interlock_policy_activated_timestamp_seconds",
        "Unix time since which the active policy is in force; absent while there is none.",
        lambda: {} if (at := activated_at()) is None else {(): at},
    )
    metrics.watch(
        "interlock_policy_from_disk",
        "Whether the last good bundle on disk decides, because its source could not be used.",
        lambda: {(): float(from_disk())},
    )


def watch_exemptions(metrics: Metrics, count: Callable[[], dict[tuple[str, ...], float]]) -> None:
    """Show how many exemptions the policies in force have, by how they stand."""
    metrics.watch(
        "interlock_policy_exemptions", "Exemptions of the active policy, by how they stand.", count, "standing"
    )


def watch_policy_workers(metrics: Metrics, workers: Callable[[], int]) -> None:
    """Show how many processes evaluate policies."""
    metrics.watch(
        "interlock_policy_workers",
        "Processes that are ready to evaluate the active policy; 0 where a policy server decides.",
        lambda: {(): workers()},
    )


def watch_providers(metrics: Metrics, connected: Callable[[], Mapping[str, bool]]) -> None:
    """Show which providers can be called."""

    def read() -> dict[tuple[str, ...], float]:
        found = sorted(connected().items(), key=lambda item: item[1])[:MAX_PROVIDERS]
        return {(name,): float(up) for name, up in found}

    metrics.watch("interlock_provider_up", "Whether a provider can be called.", read, "provider")


def watch_tools(metrics: Metrics, pins: Callable[[], Mapping[str, int]]) -> None:
    """Show how many tools there are, by how their definitions stand against what was pinned."""
    metrics.watch(
        "interlock_tools",
        "Tools of providers, by how they stand against their pins; `changed` ones are in quarantine.",
        lambda: {(pin,): count for pin, count in pins().items()},
        "pin",
    )


def watch_calls(
    metrics: Metrics, in_flight: Callable[[], int], waiting: Callable[[], int], sessions: Callable[[], int]
) -> None:
    """Show how many calls are under way, how many wait for people, and in how many sessions."""
    metrics.watch("interlock_calls_in_flight", "Calls under way.", lambda: {(): in_flight()})
    metrics.watch(
        "interlock_calls_held_open", "Callers that wait for the outcome of a checkpoint.", lambda: {(): waiting()}
    )
    metrics.watch("interlock_sessions", "Sessions that are in memory.", lambda: {(): sessions()})


def watch_mcp(metrics: Metrics, sessions: Callable[[], Mapping[str, int]]) -> None:
    """Show how many clients of MCP have a session open."""
    metrics.watch(
        "interlock_mcp_sessions",
        "Sessions of MCP that are open, by what they came in by; requests of 2026-07-28 over HTTP have none.",
        lambda: {(transport,): count for transport, count in sessions().items()},
        "transport",
    )


def watch_gate(metrics: Metrics, gate: Gate) -> None:
    """Show how many calls have to wait before they begin, because more come than a turn of the loop can take."""
    metrics.watch("interlock_calls_waiting", "Calls that wait to begin.", lambda: {(): gate.waiting})
    metrics.watch_total("interlock_calls_delayed", "Calls that had to wait to begin.", lambda: {(): gate.waited})
    metrics.watch_total(
        "interlock_calls_delayed_seconds", "How long calls waited to begin, together.", lambda: {(): gate.waited_s}
    )


def watch_health(
    metrics: Metrics, serving: Callable[[], bool], parts: Callable[[], Iterable[tuple[str, bool]]]
) -> None:
    """Show what health says, and which part of the gateway is the reason."""
    metrics.watch("interlock_serving", "Whether health says that calls are served.", lambda: {(): float(serving())})
    metrics.watch(
        "interlock_component_healthy",
        "Whether a part works without which no call is served.",
        lambda: {(name,): float(healthy) for name, healthy in parts()},
        "component",
    )


def watch_state(metrics: Metrics, holds_lease: Callable[[], bool], waiting: Callable[[], Mapping[str, int]]) -> None:
    """Show whether this replica may change anything, and how much waits for the database."""
    metrics.watch(
        "interlock_state_lease_held",
        "Whether this replica holds its lease on the database; 1 where it has the database to itself.",
        lambda: {(): float(holds_lease())},
    )
    metrics.watch(
        "interlock_state_waiting",
        "Reads and writes that wait for the database.",
        lambda: {(lane,): count for lane, count in waiting().items()},
        "lane",
    )


def watch_webhooks(metrics: Metrics, attempts: Callable[[], Mapping[tuple[str, str], int]]) -> None:
    """Show how posting to webhooks goes."""
    metrics.watch_total(
        "interlock_webhook_posts",
        "Attempts to post to a webhook: done, to be tried again, or given up.",
        lambda: _now(attempts()),
        "webhook",
        "outcome",
    )


def watch_requests(
    metrics: Metrics,
    ended: Callable[[], Mapping[tuple[str, str], int]],
    refused: Callable[[], Mapping[str, int]],
) -> None:
    """Show how RPCs end, and why those that are no answers were refused."""
    metrics.watch_total(
        "interlock_rpcs",
        "RPCs that ended, by method and gRPC status code.",
        lambda: _now(ended()),
        "method",
        "code",
    )
    metrics.watch_total(
        "interlock_refused_requests",
        "Requests that ended in an error, by the reason that the client was told.",
        lambda: {(reason,): count for reason, count in tuple(refused().items())},
        "reason",
    )


def _now(counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, ...], float]:
    """Them as they are, in one step: they go on being counted on another thread."""
    return dict(tuple(counts.items()))
