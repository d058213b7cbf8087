"""The gateway's certificate, its key, clients' authorities and what these took back: as in their files now (AUTH-1).

What is new in the files is used for new connections; connections that are there stay. Files that cannot be used, such
as a certificate without its key, change nothing, and are looked at again until they fit.
"""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from interlock_gateway.config_server import TlsConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.tls.pair import UnusableError, load_pair, said
from interlock_gateway.transport.tls.revocation import Lists, check_lists, compare_with_lists

_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Those of TLS 1.2 that HTTP/2 allows (RFC 9113, appendix A); TLS 1.3 has no others."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Material:
    """Files that fit together, and the context made of them. `ends_at` is in Unix seconds."""

    context: ssl.SSLContext
    web: ssl.SSLContext
    certificate: bytes
    key: bytes
    authorities: bytes | None
    ends_at: float
    digest: str
    lists: Lists | None = None

    @property
    def believed(self) -> tuple[bytes | None, frozenset[str] | None]:
        """Whose certificates are accepted, and which of them are not."""
        return self.authorities, None if self.lists is None else self.lists.names

    @property
    def lists_end_at(self) -> float | None:
        """Until when the revocation lists are in force, in Unix seconds, if there are any."""
        return None if self.lists is None else self.lists.end_at


class ServerTls:
    """What TLS listeners show, and whom they believe. Raises `ConfigError` when the files cannot be used."""

    def __init__(self, config: TlsConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._tell: list[Callable[[], None]] = []
        self.counts: Counter[str] = Counter(loaded=0, refused=0, failed_handshakes=0)
        self.problem = ""
        """Why the files as they are now are not used; empty when they are."""
        try:
            self.material = _read(config, clock.now())
        except UnusableError as error:
            raise ConfigError(f"server.tls cannot be used: {error}") from None

    @property
    def context(self) -> ssl.SSLContext:
        """What the next connection is made with."""
        return self.material.context

    @property
    def web(self) -> ssl.SSLContext:
        """The same for a connection that speaks HTTP/1.1."""
        return self.material.web

    @property
    def told(self) -> str:
        """Until when the certificate and the revocation lists hold, and why newer ones are not used."""
        listed = self.material.lists_end_at
        lists = "" if listed is None else f", revocation lists until {_shown(listed)}"
        end = f"; the new one cannot be used: {self.problem}" if self.problem else ""
        if listed is not None and listed <= self._clock.now():
            end += "; the revocation lists have expired: no client's certificate is accepted"
        return f"until {_shown(self.material.ends_at)}{lists}{end}"

    @property
    def is_well(self) -> bool:
        """Whether the files as they are now are used, and clients' certificates can be accepted."""
        listed = self.material.lists_end_at
        return not self.problem and (listed is None or listed > self._clock.now())

    @property
    def requires_certificates(self) -> bool:
        """Whether nobody gets in without one."""
        return self._config.client_ca_file is not None and self._config.clients == "require"

    def when_authorities_change(self, tell: Callable[[], None]) -> None:
        """Have `tell` called when other authorities are believed than before, or others of their certificates."""
        self._tell.append(tell)

    async def look(self) -> bool:
        """Take what is in the files, if it is something else and fits; whether it was taken."""
        try:
            found = await asyncio.to_thread(self._changed)
        except UnusableError as error:
            self._keep_the_old(str(error))
            return False
        if found is None:
            self.problem = ""
            return False
        self._take(found)
        return True

    def _changed(self) -> Material | None:
        """What the files hold now, if it is something else. Raises `UnusableError`."""
        if _digest(self._config) == self.material.digest:
            return None
        return _read(self._config, self._clock.now())

    def _take(self, found: Material) -> None:
        others = found.believed != self.material.believed
        self.material, self.problem = found, ""
        self.counts["loaded"] += 1
        _log.info("the gateway's certificate was loaded anew", extra={"ends_at": found.ends_at})
        for tell in self._tell if others else ():
            tell()

    async def follow(self) -> None:
        """Look every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(self._config.watch_s)
            await self.look()

    def _keep_the_old(self, problem: str) -> None:
        # Files that are changed one after the other fit a moment later. What stays wrong is said once.
        if problem != self.problem:
            _log.warning("the gateway's new certificate cannot be used; the old one stays", extra={"problem": problem})
            self.counts["refused"] += 1
        self.problem = problem


def _read(config: TlsConfig, now: float) -> Material:
    digest = _digest(config)
    certificate, key, authorities, lists = _bytes(config)
    checked = None
    if lists is not None and config.crl_file is not None:
        checked = check_lists(config.crl_file, lists, authorities or b"", now)
    context, ends_at = _context(config, authorities, "h2")
    web, _ = _context(config, authorities, "http/1.1")
    if ends_at <= now:
        raise UnusableError(f"{config.cert_file} has expired")
    if _digest(config) != digest:
        raise UnusableError("the files changed while they were read")
    return Material(context, web, certificate, key, authorities, ends_at, digest, checked)


def _context(config: TlsConfig, authorities: bytes | None, speaks: str) -> tuple[ssl.SSLContext, float]:
    """What connections are made with that speak that, and until when its certificate holds."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols([speaks])
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    # A session that is resumed shows no certificate: each connection shows its own.
    context.num_tickets = 0
    ends_at = load_pair(context, config.cert_file, config.key_file)
    if authorities is not None:
        _believe(context, config, authorities)
    return context, ends_at


def _believe(context: ssl.SSLContext, config: TlsConfig, authorities: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UnusableError(f"{config.client_ca_file} holds no authorities: {said(error)}") from None
    if config.crl_file is not None:
        compare_with_lists(context, config.crl_file)
    context.verify_mode = ssl.CERT_REQUIRED if config.clients == "require" else ssl.CERT_OPTIONAL


def _bytes(config: TlsConfig) -> tuple[bytes, bytes, bytes | None, bytes | None]:
    try:
        authorities = None if config.client_ca_file is None else config.client_ca_file.read_bytes()
        lists = None if config.crl_file is None else config.crl_file.read_bytes()
        return config.cert_file.read_bytes(), config.key_file.read_bytes(), authorities, lists
    except OSError as error:
        raise UnusableError(f"{error.filename} cannot be read: {error.strerror}") from None


def _shown(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")


def _digest(config: TlsConfig) -> str:
    return sha256(b"".join(sha256(one or b"").digest() for one in _bytes(config))).hexdigest()
