"""The dashboard's rows about the gateways: policy, providers, state and audit, artifacts, resources."""

from panel import Panel, Query, Row, grown, of, rate, some_of_all


def _free(kind: str) -> str:
    """The share of a disk's bytes, or of its inodes, that is free."""
    free, used = of(f"interlock_disk_free_{kind}"), of(f"interlock_disk_used_{kind}")
    return f'label_replace({free} / ({free} + {used}), "of", "{kind}", "", "")'


ROWS = (
    Row(
        "Policy",
        (
            Panel(
                "In force",
                "Revision, profile and engine, with how many gateways have them.",
                (
                    Query(
                        f"count by (revision, profile, engine) ({of('interlock_policy_info')})",
                        "{{profile}} {{revision}} ({{engine}})",
                    ),
                ),
                kind="bargauge",
            ),
            Panel(
                "In force since",
                "The youngest among the gateways.",
                (Query(f"time() - max({of('interlock_policy_activated_timestamp_seconds')})"),),
                kind="stat",
                unit="s",
                width=4,
            ),
            Panel(
                "Newest policies taken",
                "1 when no gateway refused what it was offered last; 0 means that older ones go on deciding.",
                (Query(f"min({of('interlock_policy_last_reload_accepted')})"),),
                kind="stat",
                width=4,
            ),
            Panel(
                "Reloads",
                "In the time shown.",
                (Query(grown("interlock_policy_reloads_total", "outcome"), "{{outcome}}"),),
                kind="bargauge",
            ),
            Panel(
                "Candidate",
                "Decisions of the shadow policy, by both verdicts.",
                (Query(grown("interlock_shadow_decisions_total", "active, candidate"), "{{active}} → {{candidate}}"),),
                kind="bargauge",
            ),
            Panel(
                "Candidate, calls skipped",
                "Calls that it did not decide about.",
                (Query(rate("interlock_shadow_skipped_total", "why"), "{{why}}"),),
                unit="ops",
            ),
            Panel(
                "Exemptions",
                "Of the active policy, by how they stand.",
                (Query(f"max by (standing) ({of('interlock_policy_exemptions')})", "{{standing}}"),),
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
                (Query(f"min by (provider) ({of('interlock_provider_up')})", "{{provider}}"),),
            ),
            Panel(
                "Tools",
                "By how they stand against their pins; `changed` ones are in quarantine.",
                (Query(f"max by (pin) ({of('interlock_tools')})", "{{pin}}"),),
                kind="bargauge",
            ),
            Panel(
                "Results shortened",
                "By tool.",
                (Query(f"topk(8, {rate('interlock_truncated_results_total', 'tool')})", "{{tool}}"),),
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
                (Query(f"min by (component) ({of('interlock_component_healthy')})", "{{component}}"),),
            ),
            Panel(
                "Waiting for the database",
                "Reads and writes.",
                (Query(f"sum by (lane) ({of('interlock_state_waiting')})", "{{lane}}"),),
            ),
            Panel(
                "Leases held",
                "Replicas that may change something, of those that there are.",
                some_of_all("interlock_state_lease_held", "held", "replicas"),
                kind="stat",
            ),
            Panel(
                "Receipts",
                "By what became of them. Refused ones were told to their callers; dropped ones are lost.",
                (Query(rate("interlock_audit_receipts_total", "outcome"), "{{outcome}}"),),
                unit="ops",
            ),
            Panel(
                "Lag of receipts",
                "At most how old the oldest is that is not on disk.",
                (Query(f"max by (instance) ({of('interlock_audit_lag_seconds')})", "{{instance}}"),),
                unit="s",
            ),
            Panel(
                "Disk space",
                "The least among the gateways: the share that is free where they keep state and receipts, of bytes and"
                " of inodes where these are counted.",
                (
                    Query(
                        f"min by (directory, of) ({_free('bytes')} or {_free('inodes')})",
                        "{{directory}}, {{of}}",
                    ),
                ),
                unit="percentunit",
            ),
            Panel(
                "Receipts on disk",
                "The most among the gateways; nothing removes them by itself.",
                (Query(f"max({of('interlock_audit_stored_bytes')})", "receipts"),),
                unit="bytes",
            ),
            Panel(
                "Receipts that wait",
                "And groups that could not be written, a second.",
                (
                    Query(f"sum({of('interlock_audit_backlog')})", "waiting"),
                    Query(rate("interlock_audit_failed_writes_total"), "failed writes/s"),
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
                (Query(rate("interlock_artifact_bytes_total"), "bytes/s"),),
                unit="Bps",
            ),
            Panel(
                "Results stored, and not",
                "A failure means that the rest of a result is lost.",
                (
                    Query(grown("interlock_artifacts_total"), "stored"),
                    Query(grown("interlock_artifact_failures_total"), "failed"),
                ),
                kind="stat",
            ),
            Panel(
                "Removed",
                "By why, and sweeps by how they ended.",
                (
                    Query(grown("interlock_artifacts_removed_total", "reason"), "{{reason}}"),
                    Query(grown("interlock_artifact_sweeps_total", "outcome"), "sweeps {{outcome}}"),
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
                (Query(f"sum by (process) ({of('interlock_process_resident_memory_bytes')})", "{{process}}"),),
                unit="bytes",
                stacked=True,
            ),
            Panel(
                "Processor",
                "Cores used, by what the processes do.",
                (Query(rate("interlock_process_cpu_seconds_total", "process"), "{{process}}"),),
                stacked=True,
            ),
            Panel(
                "File descriptors",
                "The share that is open.",
                (
                    Query(
                        f"max by (instance) ({of('interlock_process_open_fds')} / {of('interlock_process_max_fds')})",
                        "{{instance}}",
                    ),
                ),
                unit="percentunit",
            ),
        ),
    ),
)
