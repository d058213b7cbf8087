"""The certificate that an HTTPS listener shows, read again when its files change."""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.tls.pair import UnusableError, load_pair

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pair:
    context: ssl.SSLContext
    ends_at: datetime
    digest: str


class ServedCertificate:
    """A certificate with its key, in PEM files. `context` stays the same; what it shows follows the files.

    Raises `ConfigError` when the files cannot be used at the start. Later such files leave the last good pair in use.
    """

    def __init__(self, cert_file: Path, key_file: Path) -> None:
        self._files = (cert_file, key_file)
        self._problem = ""
        self.context = _context()
        try:
            self._pair = self._read()
            load_pair(self.context, *self._files)
        except UnusableError as error:
            raise ConfigError(str(error)) from None
        # Once for each handshake, with a name or without one.
        self.context.sni_callback = self._show

    @property
    def ends_at(self) -> datetime:
        """Until when the certificate holds."""
        return self._pair.ends_at

    def look(self) -> bool:
        """Take the files' content if it is another one and fits; whether it was taken."""
        try:
            if _digest(self._files) == self._pair.digest:
                self._problem = ""
                return False
            self._pair = self._read()
        except UnusableError as error:
            # A rotation under way passes by itself. What stays wrong is said once, not every few seconds.
            if str(error) != self._problem:
                _log.warning("the new certificate cannot be used", extra={"problem": str(error)})
            self._problem = str(error)
            return False
        self._problem = ""
        _log.info("certificate reloaded", extra={"ends_at": self._pair.ends_at.isoformat()})
        return True

    async def follow(self, every_s: float) -> None:
        """Look every `every_s` seconds, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            self.look()

    def _show(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> None:
        del name, context
        connection.context = self._pair.context

    def _read(self) -> _Pair:
        digest = _digest(self._files)
        context = _context()
        ends_at = load_pair(context, *self._files)
        if _digest(self._files) != digest:
            raise UnusableError(f"{self._named()} changed while they were read")
        return _Pair(context, datetime.fromtimestamp(ends_at, UTC), digest)

    def _named(self) -> str:
        return " and ".join(map(str, self._files))


def seconds_left(certificate: ServedCertificate) -> float:
    """How long the certificate still holds."""
    return (certificate.ends_at - datetime.now(UTC)).total_seconds()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _digest(files: tuple[Path, Path]) -> str:
    try:
        return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    except OSError as error:
        raise UnusableError(f"{error.filename}: {error.strerror}") from None
