"""What `interlock check` says of certificates and of issuers of tokens; it changes nothing."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from interlock_gateway.cli.checks import Check
from interlock_gateway.clock import SystemClock
from interlock_gateway.config import Config
from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.identity.oidc.keys import KeysError
from interlock_gateway.transport.tls.server_tls import ServerTls

SOON_S = 7 * 86_400.0
"""A certificate that ends before this is pointed out."""


def check_certificates(config: Config) -> Iterator[Check]:
    """Whether the gateway's certificate fits its key and holds, and the subjects of clients' can be compared."""
    if config.server.tls is None:
        return
    clock = SystemClock()
    try:
        tls = ServerTls(config.server.tls, clock)
    except ConfigError as error:
        yield Check("tls", ok=False, detail=error.message)
        return
    ends_at = tls.material.ends_at
    soon = " (soon)" if ends_at - clock.now() < SOON_S else ""
    asked = {"require": "required", "accept": "accepted"}[config.server.tls.clients]
    who = f"certificates of clients are {asked if tls.material.authorities else 'not asked for'}"
    if tls.material.lists_end_at is not None:
        who += f", and compared with revocation lists until {_day(tls.material.lists_end_at)}"
    yield Check("tls", ok=True, detail=f"until {_day(ends_at)}{soon}; {who}")
    yield from _check_subjects(config)


def _day(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC"


def _check_subjects(config: Config) -> Iterator[Check]:
    principals = config.identity.mtls.principals
    if not principals:
        return
    from interlock_gateway.identity.certificates import CertificateHolders  # noqa: PLC0415 -- all of X.509: 2 MB

    try:
        CertificateHolders(principals)
    except ConfigError as error:
        yield Check("mtls", ok=False, detail=error.message)
    else:
        yield Check("mtls", ok=True, detail=f"{len(principals)} entries")


def check_issuers(config: Config) -> list[Check]:
    """Whether each issuer's keys can be had."""
    return asyncio.run(_check_all(config.identity.jwt)) if config.identity.jwt else []


async def _check_all(issuers: tuple[JwtConfig, ...]) -> list[Check]:
    return list(await asyncio.gather(*map(_check_issuer, issuers)))


async def _check_issuer(issuer: JwtConfig) -> Check:
    from interlock_gateway.identity.oidc.fetching import fetch_keys  # noqa: PLC0415 -- an HTTP client: 3 MB

    what = f"issuer {issuer.name}"
    try:
        found = await fetch_keys(issuer)
    except KeysError as error:
        return Check(what, ok=False, detail=f"{issuer.issuer}: {error.message}")
    usable = [key for key in found.keys if key.algorithms & set(issuer.algorithms)]
    if not usable:
        has = ", ".join(sorted({one for key in found.keys for one in key.algorithms}))
        return Check(
            what, ok=False, detail=f"{issuer.issuer}: its keys are for {has}; `algorithms` names none of these"
        )
    return Check(what, ok=True, detail=f"{issuer.issuer}: {len(usable)} keys")
