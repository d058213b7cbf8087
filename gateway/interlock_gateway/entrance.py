"""What stands at the TCP listeners: encryption, and who is let in (AUTH-1). Sockets need neither."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from interlock_gateway.config import Config
from interlock_gateway.core.clock import Clock
from interlock_gateway.identity.authenticate import TokenBook
from interlock_gateway.identity.door import Bearers, Holders, NetworkDoor
from interlock_gateway.identity.oidc.issuer import Issuer
from interlock_gateway.identity.refusals import Refusal, RefusalLog
from interlock_gateway.operate.status import Component
from interlock_gateway.telemetry.identity_metrics import watch_certificate, watch_issuers, watch_lists, watch_refusals
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.transport.tls.server_tls import ServerTls


@dataclass(frozen=True, slots=True)
class Entrance:
    """Who is let in, and what encrypts, if anything does."""

    door: NetworkDoor
    tls: ServerTls | None
    issuers: tuple[Issuer, ...]

    def remarks(self) -> tuple[Component, ...]:
        """How certificate and issuers are. None of it keeps the gateway from serving others."""
        told = [] if self.tls is None else [Component("tls", self.tls.is_well, self.tls.told)]
        return (*told, *(Component(f"issuer {one.config.name}", not one.problem, one.told) for one in self.issuers))


@asynccontextmanager
async def entrance(config: Config, clock: Clock, metrics: Metrics) -> AsyncIterator[Entrance]:
    """Certificates and issuers' keys are kept up to date inside the block. Raises `ConfigError` for unusable files.

    It waits for no issuer: whose keys are not there yet is told to come again.
    """
    refused: Counter[Refusal] = Counter()
    watch_refusals(metrics, refused)
    tls, following = await _encryption(config, clock, metrics)
    issuers, bearers = _issuers(config, clock)
    watch_issuers(metrics, issuers)

    def count(reason: Refusal) -> None:
        refused[reason] += 1

    identity = config.identity
    door = NetworkDoor(
        TokenBook(identity.tokens),
        clock,
        RefusalLog(clock, count),
        holders=_holders(config),
        bearers=bearers,
        anonymous=identity.anonymous_agents_on_loopback,
        approvers=frozenset(one.principal for hook in config.approvals.webhooks for one in hook.approvers),
    )
    keepers = [asyncio.create_task(one.run()) for one in issuers] + following
    try:
        yield Entrance(door, tls, issuers)
    finally:
        for keeper in keepers:
            keeper.cancel()
        for keeper in keepers:
            with suppress(asyncio.CancelledError):
                await keeper


async def _encryption(
    config: Config, clock: Clock, metrics: Metrics
) -> "tuple[ServerTls | None, list[asyncio.Task[None]]]":
    if config.server.tls is None:
        return None, []
    tls = await asyncio.to_thread(ServerTls, config.server.tls, clock)
    watch_certificate(metrics, lambda: tls.material.ends_at, tls.counts)
    watch_lists(metrics, lambda: tls.material.lists_end_at)
    return tls, [asyncio.create_task(tls.follow())]


def _holders(config: Config) -> Holders | None:
    if config.server.tls is None or config.server.tls.client_ca_file is None:
        return None
    # All of X.509 takes 2 MB: only who has clients with certificates pays for it.
    from interlock_gateway.identity.certificates import CertificateHolders  # noqa: PLC0415 -- as said above

    return CertificateHolders(config.identity.mtls.principals)


def _issuers(config: Config, clock: Clock) -> tuple[tuple[Issuer, ...], Bearers | None]:
    if not config.identity.jwt:
        return (), None
    # An HTTP client and what reads tokens take 6 MB: only who has issuers pays for them.
    from interlock_gateway.identity.oidc.bearer import JwtBearers  # noqa: PLC0415 -- as said above
    from interlock_gateway.identity.oidc.fetching import fetch_keys  # noqa: PLC0415 -- as said above

    issuers = tuple(Issuer(one, clock, fetch_keys) for one in config.identity.jwt)
    return issuers, JwtBearers(issuers, clock)
