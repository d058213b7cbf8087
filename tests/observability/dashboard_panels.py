"""What the dashboard shows, row by row: the one place to change it. `dashboard_json.py` makes Grafana's file of it."""

from dataclasses import dataclass, field

# Which gateways are looked at. A label that a Prometheus does not have matches `.*` too.
GATEWAYS = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
RATE = "[$__rate_interval]"
RANGE = "[$__range]"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel, in PromQL, and how its lines are called: `{{label}}` stands for a label's value."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `kind` is Grafana's; `unit` too (`ops`, `s`, `bytes`, `short`, `percentunit`); `width` of 24.

    `stacked` lays lines on each other.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 8
    stacked: bool = False

    @property
    def instant(self) -> bool:
        """Whether it shows one moment and not a time."""
        return self.kind != "timeseries"


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...] = field(default=())


def _of(metric: str, more: str = "") -> str:
    return f"{metric}{{{GATEWAYS}{', ' if more else ''}{more}}}"


def _rate(metric: str, by: str, more: str = "") -> str:
    return f"sum by ({by}) (rate({_of(metric, more)}{RATE}))"


def _grown(metric: str, by: str, more: str = "") -> str:
    return f"sum by ({by}) (increase({_of(metric, more)}{RANGE}))"


def _quantile(share: float, metric: str, by: str = "") -> str:
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({_of(f'{metric}_bucket')}{RATE})))"


def _quantiles(metric: str) -> tuple[Query, ...]:
    return tuple(Query(_quantile(share, metric), f"p{share * 100:.0f}") for share in (0.5, 0.95, 0.99))


_DENY = 'verdict="deny"'
_DENIED = 'outcome="denied"'
_FAST = 'le="0.1"'
_DESTRUCTIVE = "interlock_destructive_calls_total"
_ADDED = "interlock_added_latency_seconds"

ROWS = (
    Row(
        "Traffic and verdicts",
        (
            Panel(
                "Gateways that serve",
                "How many say SERVING, of how many there are.",
                (
                    Query(f"sum({_of('interlock_serving')})", "serving"),
                    Query(f"count({_of('interlock_serving')})", "there"),
                ),
                kind="stat",
                width=4,
            ),
            Panel(
                "Failed calls",
                "The share of calls that the gateway itself denied, because it could not decide or record.",
                (
                    Query(
                        f"sum(increase({_of('interlock_gateway_errors_total')}{RANGE}))"
                        f" / sum(increase({_of(f'{_ADDED}_count')}{RANGE}))"
                    ),
                ),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Calls by verdict",
                "What policy decided about the calls that ended.",
                (Query(_rate("interlock_calls_total", "verdict"), "{{verdict}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Calls by status",
                "What became of them.",
                (Query(_rate("interlock_calls_total", "status"), "{{status}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Busiest tools",
                "Calls in the time shown.",
                (Query(f"topk(10, {_grown('interlock_calls_total', 'tool')})", "{{tool}}"),),
                kind="bargauge",
            ),
            Panel(
                "Denials by rule",
                "Which rules deny most; `gateway` is the gateway itself.",
                (Query(f"topk(10, {_grown('interlock_decisions_total', 'rule', _DENY)})", "{{rule}}"),),
                kind="bargauge",
            ),
            Panel(
                "Denials by the gateway itself",
                "Why it could not decide, or not keep its promises. Zero is normal.",
                (Query(_rate("interlock_gateway_errors_total", "code"), "{{code}}"),),
                unit="ops",
            ),
            Panel(
                "RPCs by status code",
                "How requests end, whatever they ask for.",
                (Query(_rate("interlock_rpcs_total", "code"), "{{code}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Refused requests",
                "Requests that ended in an error, by the reason that the client was told.",
                (Query(f"topk(8, {_rate('interlock_refused_requests_total', 'reason')})", "{{reason}}"),),
                unit="ops",
            ),
            Panel(
                "Under way",
                "Calls in flight, callers that wait for people, sessions in memory.",
                (
                    Query(f"sum({_of('interlock_calls_in_flight')})", "calls in flight"),
                    Query(f"sum({_of('interlock_calls_held_open')})", "wait for people"),
                    Query(f"sum({_of('interlock_sessions')})", "sessions"),
                ),
            ),
        ),
    ),
    Row(
        "Destructive calls and undo",
        (
            Panel(
                "Destructive calls",
                "Calls of destructive or undeclared tools, by what came of them.",
                (Query(_rate(_DESTRUCTIVE, "outcome"), "{{outcome}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "By tool, principal and outcome",
                "In the time shown.",
                (
                    Query(
                        f"topk(12, {_grown(_DESTRUCTIVE, 'tool, principal_kind, outcome')})",
                        "{{tool}} {{outcome}} ({{principal_kind}})",
                    ),
                ),
                kind="bargauge",
            ),
            Panel(
                "Denied",
                "The share of destructive calls that did not run.",
                (
                    Query(
                        f"sum(increase({_of(_DESTRUCTIVE, _DENIED)}{RANGE}))"
                        f" / sum(increase({_of(_DESTRUCTIVE)}{RANGE}))"
                    ),
                ),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Of unknown outcome",
                "Calls of which nobody knows whether they took effect. Somebody has to look.",
                (Query(f"sum(increase({_of('interlock_outcome_unknown_total')}{RANGE}))"),),
                kind="stat",
                width=4,
            ),
            Panel(
                "Undo",
                "Operations that rollbacks came to, by what was done.",
                (Query(_grown("interlock_undo_total", "outcome"), "{{outcome}}"),),
                kind="bargauge",
            ),
            Panel(
                "Previewed changes that wait",
                "Pending actions. Replicas count those of the database that they share.",
                (Query(f"max by (instance) ({_of('interlock_pending_actions')})", "{{instance}}"),),
            ),
            Panel(
                "Secrets masked",
                "In results, by kind.",
                (Query(_grown("interlock_redactions_total", "kind"), "{{kind}}"),),
                kind="bargauge",
            ),
        ),
    ),
    Row(
        "Latency",
        (
            Panel(
                "Added by the gateway",
                "Time that a call spent in the gateway and not in its provider.",
                _quantiles(_ADDED),
                unit="s",
            ),
            Panel("Decisions", "Time to facts and decision.", _quantiles("interlock_decision_seconds"), unit="s"),
            Panel(
                "Providers, p95",
                "Time that providers took, by tool.",
                (Query(f"topk(8, {_quantile(0.95, 'interlock_dispatch_seconds', 'tool')})", "{{tool}}"),),
                unit="s",
            ),
            Panel(
                "Within 100 ms",
                "The share of calls that the gateway held up for at most 100 ms; the objective is 99 %.",
                (
                    Query(
                        f"sum(increase({_of(f'{_ADDED}_bucket', _FAST)}{RANGE}))"
                        f" / sum(increase({_of(f'{_ADDED}_count')}{RANGE}))"
                    ),
                ),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Lag of the event loop, p99",
                "Every call of a gateway waits so long.",
                (Query(_quantile(0.99, "interlock_loop_lag_seconds", "instance"), "{{instance}}"),),
                unit="s",
                width=12,
            ),
        ),
    ),
    Row(
        "People",
        (
            Panel(
                "Open checkpoints",
                "Calls that people are asked about. Replicas count those of the database that they share.",
                (Query(f"max by (instance) ({_of('interlock_open_checkpoints')})", "{{instance}}"),),
            ),
            Panel(
                "Time left",
                "Until the next open checkpoint expires and its call is denied. Empty while none is open.",
                (Query(f"min({_of('interlock_checkpoint_expiry_timestamp_seconds')}) - time()"),),
                kind="stat",
                unit="s",
                width=4,
            ),
            Panel(
                "How they ended",
                "In the time shown.",
                (Query(_grown("interlock_checkpoint_wait_seconds_count", "outcome"), "{{outcome}}"),),
                kind="bargauge",
                width=6,
            ),
            Panel(
                "Time to an answer, p95",
                "From a checkpoint's opening to its end.",
                (Query(_quantile(0.95, "interlock_checkpoint_wait_seconds"), "p95"),),
                unit="s",
                width=6,
            ),
            Panel(
                "Posts to webhooks",
                "Whether those who are asked there hear of it.",
                (Query(_rate("interlock_webhook_posts_total", "webhook, outcome"), "{{webhook}} {{outcome}}"),),
                unit="ops",
                width=12,
            ),
        ),
    ),
    Row(
        "Policy",
        (
            Panel(
                "In force",
                "Revision, profile and engine, with how many gateways have them.",
                (
                    Query(
                        f"count by (revision, profile, engine) ({_of('interlock_policy_info')})",
                        "{{profile}} {{revision}} ({{engine}})",
                    ),
                ),
                kind="bargauge",
            ),
            Panel(
                "In force since",
                "The youngest among the gateways.",
                (Query(f"time() - max({_of('interlock_policy_activated_timestamp_seconds')})"),),
                kind="stat",
                unit="s",
                width=4,
            ),
            Panel(
                "Newest policies taken",
                "1 when no gateway refused what it was offered last; 0 means that older ones go on deciding.",
                (Query(f"min({_of('interlock_policy_last_reload_accepted')})"),),
                kind="stat",
                width=4,
            ),
            Panel(
                "Reloads",
                "In the time shown.",
                (Query(_grown("interlock_policy_reloads_total", "outcome"), "{{outcome}}"),),
                kind="bargauge",
            ),
            Panel(
                "Candidate",
                "Decisions of the shadow policy, by both verdicts.",
                (Query(_grown("interlock_shadow_decisions_total", "active, candidate"), "{{active}} → {{candidate}}"),),
                kind="bargauge",
            ),
            Panel(
                "Candidate, calls skipped",
                "Calls that it did not decide about.",
                (Query(_rate("interlock_shadow_skipped_total", "why"), "{{why}}"),),
                unit="ops",
            ),
            Panel(
                "Exemptions",
                "Of the active policy, by how they stand.",
                (Query(f"max by (standing) ({_of('interlock_policy_exemptions')})", "{{standing}}"),),
                kind="bargauge",
            ),
        ),
    ),
    Row(
        "Providers and tools",
        (
            Panel(
                "Providers",
                "1 while a provider can be called.",
                (Query(f"min by (provider) ({_of('interlock_provider_up')})", "{{provider}}"),),
            ),
            Panel(
                "Tools",
                "By how they stand against their pins; `changed` ones are in quarantine.",
                (Query(f"max by (pin) ({_of('interlock_tools')})", "{{pin}}"),),
                kind="bargauge",
            ),
            Panel(
                "Results shortened",
                "By tool.",
                (Query(f"topk(8, {_rate('interlock_truncated_results_total', 'tool')})", "{{tool}}"),),
                unit="ops",
            ),
        ),
    ),
    Row(
        "State and audit",
        (
            Panel(
                "Parts that work",
                "The least among the gateways: 0 when a part does not work in one of them.",
                (Query(f"min by (component) ({_of('interlock_component_healthy')})", "{{component}}"),),
            ),
            Panel(
                "Waiting for the database",
                "Reads and writes.",
                (Query(f"sum by (lane) ({_of('interlock_state_waiting')})", "{{lane}}"),),
            ),
            Panel(
                "Leases held",
                "Replicas that may change something, of those that there are.",
                (
                    Query(f"sum({_of('interlock_state_lease_held')})", "held"),
                    Query(f"count({_of('interlock_state_lease_held')})", "replicas"),
                ),
                kind="stat",
            ),
            Panel(
                "Receipts",
                "By what became of them. Refused ones were told to their callers; dropped ones are lost.",
                (Query(_rate("interlock_audit_receipts_total", "outcome"), "{{outcome}}"),),
                unit="ops",
            ),
            Panel(
                "Lag of receipts",
                "At most how old the oldest is that is not on disk.",
                (Query(f"max by (instance) ({_of('interlock_audit_lag_seconds')})", "{{instance}}"),),
                unit="s",
            ),
            Panel(
                "Receipts that wait",
                "And groups that could not be written, a second.",
                (
                    Query(f"sum({_of('interlock_audit_backlog')})", "waiting"),
                    Query(f"sum(rate({_of('interlock_audit_failed_writes_total')}{RATE}))", "failed writes/s"),
                ),
            ),
        ),
    ),
    Row(
        "Artifacts",
        (
            Panel(
                "Stored",
                "Bytes of large results.",
                (Query(f"sum(rate({_of('interlock_artifact_bytes_total')}{RATE}))", "bytes/s"),),
                unit="Bps",
            ),
            Panel(
                "Results stored, and not",
                "A failure means that the rest of a result is lost.",
                (
                    Query(f"sum(increase({_of('interlock_artifacts_total')}{RANGE}))", "stored"),
                    Query(f"sum(increase({_of('interlock_artifact_failures_total')}{RANGE}))", "failed"),
                ),
                kind="stat",
            ),
            Panel(
                "Removed",
                "By why, and sweeps by how they ended.",
                (
                    Query(_grown("interlock_artifacts_removed_total", "reason"), "{{reason}}"),
                    Query(_grown("interlock_artifact_sweeps_total", "outcome"), "sweeps {{outcome}}"),
                ),
                kind="bargauge",
            ),
        ),
    ),
    Row(
        "Resources",
        (
            Panel(
                "Memory",
                "Resident, by what the processes do.",
                (Query(f"sum by (process) ({_of('interlock_process_resident_memory_bytes')})", "{{process}}"),),
                unit="bytes",
                stacked=True,
            ),
            Panel(
                "Processor",
                "Cores used, by what the processes do.",
                (Query(_rate("interlock_process_cpu_seconds_total", "process"), "{{process}}"),),
                stacked=True,
            ),
            Panel(
                "File descriptors",
                "The share that is open.",
                (
                    Query(
                        f"max by (instance) ({_of('interlock_process_open_fds')} / {_of('interlock_process_max_fds')})",
                        "{{instance}}",
                    ),
                ),
                unit="percentunit",
            ),
        ),
    ),
)


def panels() -> tuple[Panel, ...]:
    """All of them, in order."""
    return tuple(panel for row in ROWS for panel in row.panels)
