"""Metrics of who is let in: refusals by reason, issuers' keys, the gateway's certificate (AUTH-1)."""

from collections.abc import Callable, Mapping

from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.refusals import Refusal
from interlock_gateway.telemetry.metrics import Metrics


def watch_refusals(metrics: Metrics, refused: Mapping[Refusal, int]) -> None:
    """Show how many callers were nobody known, by why."""
    metrics.watch_total(
        "interlock_callers_refused",
        "Calls over the network whose caller was not let in, by why.",
        lambda: {(reason.value,): refused.get(reason, 0) for reason in Refusal},
        "reason",
    )


def watch_issuers(metrics: Metrics, issuers: tuple[Issuer, ...]) -> None:
    """Show how old each issuer's keys are, and how fetching them went."""

    def ages() -> dict[tuple[str, ...], float]:
        return {(one.config.name,): age_s for one in issuers if (age_s := one.age_s) is not None}

    def fetches() -> dict[tuple[str, ...], float]:
        counted: dict[tuple[str, ...], float] = {}
        for one in issuers:
            counted[one.config.name, "fetched"] = one.fetched
            counted[one.config.name, "failed"] = one.failed
        return counted

    metrics.watch(
        "interlock_issuer_keys_age_seconds",
        "How old the keys are that an issuer's tokens are verified with; absent while there are none.",
        ages,
        "issuer",
    )
    metrics.watch_total("interlock_issuer_key_fetches", "Fetches of an issuer's keys.", fetches, "issuer", "outcome")


def watch_certificate(metrics: Metrics, ends_at: Callable[[], float], counts: Mapping[str, int]) -> None:
    """Show until when the certificate in use holds; `counts` holds `loaded`, `refused` and `failed_handshakes`."""
    metrics.watch(
        "interlock_tls_certificate_expiry_timestamp_seconds",
        "Unix time at which the gateway's certificate ends.",
        lambda: {(): ends_at()},
    )
    metrics.watch_total(
        "interlock_tls_reloads",
        "Changed certificates that were found, by whether they could be used.",
        lambda: {("loaded",): counts["loaded"], ("refused",): counts["refused"]},
        "outcome",
    )
    metrics.watch_total(
        "interlock_tls_handshake_failures",
        "TLS handshakes that failed; with the front grpcio, 0.",
        lambda: {(): counts["failed_handshakes"]},
    )


def watch_lists(metrics: Metrics, end_at: Callable[[], float | None]) -> None:
    """Show until when the lists are in force of clients' certificates that were taken back, if there are such lists."""

    def ends() -> dict[tuple[str, ...], float]:
        ends_at = end_at()
        return {} if ends_at is None else {(): ends_at}

    metrics.watch(
        "interlock_tls_revocation_expiry_timestamp_seconds",
        "Unix time at which the first revocation list ends, and its authority's clients are refused; absent without.",
        ends,
    )
