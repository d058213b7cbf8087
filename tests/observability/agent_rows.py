"""The dashboard's rows about what agents do: traffic, destructive calls, latency, people."""

from panel import Panel, Query, Row, grown, of, quantile, quantiles, rate, some_of_all

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
                some_of_all("interlock_serving", "serving", "there"),
                kind="stat",
                width=4,
            ),
            Panel(
                "Failed calls",
                "The share of calls that the gateway itself denied, because it could not decide or record.",
                (Query(f"{grown('interlock_gateway_errors_total')} / {grown(f'{_ADDED}_count')}"),),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Calls by verdict",
                "What policy decided about the calls that ended.",
                (Query(rate("interlock_calls_total", "verdict"), "{{verdict}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Calls by status",
                "What became of them.",
                (Query(rate("interlock_calls_total", "status"), "{{status}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Busiest tools",
                "Calls in the time shown.",
                (Query(f"topk(10, {grown('interlock_calls_total', 'tool')})", "{{tool}}"),),
                kind="bargauge",
            ),
            Panel(
                "Denials by rule",
                "Which rules deny most; `gateway` is the gateway itself.",
                (Query(f"topk(10, {grown('interlock_decisions_total', 'rule', _DENY)})", "{{rule}}"),),
                kind="bargauge",
            ),
            Panel(
                "Denials by the gateway itself",
                "Why it could not decide, or not keep its promises. Zero is normal.",
                (Query(rate("interlock_gateway_errors_total", "code"), "{{code}}"),),
                unit="ops",
            ),
            Panel(
                "RPCs by status code",
                "How requests end, whatever they ask for.",
                (Query(rate("interlock_rpcs_total", "code"), "{{code}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "Refused requests",
                "Requests that ended in an error, by the reason that the client was told.",
                (Query(f"topk(8, {rate('interlock_refused_requests_total', 'reason')})", "{{reason}}"),),
                unit="ops",
            ),
            Panel(
                "Callers not let in",
                "Callers over the network who are nobody known, by why.",
                (Query(f"topk(8, {rate('interlock_callers_refused_total', 'reason')})", "{{reason}}"),),
                unit="ops",
            ),
            Panel(
                "Under way",
                "Calls in flight, those that wait to begin, callers that wait for people, sessions in memory.",
                (
                    Query(f"sum({of('interlock_calls_in_flight')})", "calls in flight"),
                    Query(f"sum({of('interlock_calls_waiting')})", "wait to begin"),
                    Query(f"sum({of('interlock_calls_held_open')})", "wait for people"),
                    Query(f"sum({of('interlock_sessions')})", "sessions"),
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
                (Query(rate(_DESTRUCTIVE, "outcome"), "{{outcome}}"),),
                unit="ops",
                stacked=True,
            ),
            Panel(
                "By tool, principal and outcome",
                "In the time shown.",
                (
                    Query(
                        f"topk(12, {grown(_DESTRUCTIVE, 'tool, principal_kind, outcome')})",
                        "{{tool}} {{outcome}} ({{principal_kind}})",
                    ),
                ),
                kind="bargauge",
            ),
            Panel(
                "Denied",
                "The share of destructive calls that did not run.",
                (Query(f"{grown(_DESTRUCTIVE, more=_DENIED)} / {grown(_DESTRUCTIVE)}"),),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Of unknown outcome",
                "Calls of which nobody knows whether they took effect. Somebody has to look.",
                (Query(grown("interlock_outcome_unknown_total")),),
                kind="stat",
                width=4,
            ),
            Panel(
                "Undo",
                "Operations that rollbacks came to, by what was done.",
                (Query(grown("interlock_undo_total", "outcome"), "{{outcome}}"),),
                kind="bargauge",
            ),
            Panel(
                "Previewed changes that wait",
                "Pending actions. Replicas count those of the database that they share.",
                (Query(f"max by (instance) ({of('interlock_pending_actions')})", "{{instance}}"),),
            ),
            Panel(
                "Secrets masked",
                "In results, by kind.",
                (Query(grown("interlock_redactions_total", "kind"), "{{kind}}"),),
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
                quantiles(_ADDED),
                unit="s",
            ),
            Panel("Decisions", "Time to facts and decision.", quantiles("interlock_decision_seconds"), unit="s"),
            Panel(
                "Providers, p95",
                "Time that providers took, by tool.",
                (Query(f"topk(8, {quantile(0.95, 'interlock_dispatch_seconds', 'tool')})", "{{tool}}"),),
                unit="s",
            ),
            Panel(
                "Within 100 ms",
                "The share of calls that the gateway held up for at most 100 ms; the objective is 99 %.",
                (Query(f"{grown(f'{_ADDED}_bucket', more=_FAST)} / {grown(f'{_ADDED}_count')}"),),
                kind="stat",
                unit="percentunit",
                width=4,
            ),
            Panel(
                "Lag of the event loop, p99",
                "Every call of a gateway waits so long.",
                (Query(quantile(0.99, "interlock_loop_lag_seconds", "instance"), "{{instance}}"),),
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
                (Query(f"max by (instance) ({of('interlock_open_checkpoints')})", "{{instance}}"),),
            ),
            Panel(
                "Time left",
                "Until the next open checkpoint expires and its call is denied. Empty while none is open.",
                (Query(f"min({of('interlock_checkpoint_expiry_timestamp_seconds')}) - time()"),),
                kind="stat",
                unit="s",
                width=4,
            ),
            Panel(
                "How they ended",
                "In the time shown.",
                (Query(grown("interlock_checkpoint_wait_seconds_count", "outcome"), "{{outcome}}"),),
                kind="bargauge",
                width=6,
            ),
            Panel(
                "Time to an answer, p95",
                "From a checkpoint's opening to its end.",
                (Query(quantile(0.95, "interlock_checkpoint_wait_seconds"), "p95"),),
                unit="s",
                width=6,
            ),
            Panel(
                "Posts to webhooks",
                "Whether those who are asked there hear of it.",
                (Query(rate("interlock_webhook_posts_total", "webhook, outcome"), "{{webhook}} {{outcome}}"),),
                unit="ops",
                width=12,
            ),
        ),
    ),
)
