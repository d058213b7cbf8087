"""TLS to a provider: what is checked of it, what it is shown, and what went wrong in words (TOOL-4)."""

import ssl
from pathlib import Path
from typing import Any

from interlock_gateway.config_providers import ProviderTlsConfig

HTTP2 = "h2"
_ASKS = "CERTIFICATE_REQUIRED"
_REFUSES = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
Seen = tuple[tuple[int, int, int], ...]


class ProviderTls:
    """Makes the one context of a provider's connections, anew when its files have changed.

    Its certificate is always checked, and the name in it, or its SPIFFE ID; and that it speaks `protocol`, if that is
    one which is agreed on by TLS.
    """

    def __init__(self, config: ProviderTlsConfig, host: str, protocol: str = HTTP2) -> None:
        self.server_name = config.server_name or host
        self._protocol = protocol
        self._config = config
        self._seen: Seen = ()
        self._context: ssl.SSLContext | None = None

    @property
    def doubt(self) -> str:
        """What may be wrong when the other side closes a connection without a word."""
        shown = self._config.cert_file is not None
        return "it may not take the gateway's certificate" if shown else "it may ask for a certificate"

    def context(self) -> ssl.SSLContext:
        """The context for the next connection. It reads files; raises `OSError` for those that cannot be used."""
        files = (self._config.ca_file, self._config.cert_file, self._config.key_file)
        seen = tuple(_state(file) for file in files if file is not None)
        if self._context is None or seen != self._seen:
            self._context = _context(self._config, self._protocol)
            self._seen = seen
        return self._context

    def check(self, shown: ssl.SSLObject | None) -> None:
        """Raise `OSError` unless the other side of a connection speaks what it should, and is who it should be."""
        if shown is None or (self._protocol and shown.selected_alpn_protocol() != self._protocol):
            raise OSError("it does not speak HTTP/2")
        wanted = self._config.spiffe_id
        if wanted and _uris(shown) != (wanted,):
            raise OSError(f"its certificate is refused: it is not that of {wanted} alone")


def _uris(shown: ssl.SSLObject) -> tuple[str, ...]:
    names: Any = (shown.getpeercert() or {}).get("subjectAltName", ())
    return tuple(str(value) for kind, value in names if kind == "URI")


def _state(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _context(config: ProviderTlsConfig, protocol: str) -> ssl.SSLContext:
    # Not `ssl.create_default_context`: that writes the keys of connections to a file that the environment may name.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if protocol:
        context.set_alpn_protocols([protocol])
    context.check_hostname = not config.spiffe_id
    try:
        if config.ca_file is not None:
            context.load_verify_locations(cafile=config.ca_file)
        else:
            context.load_default_certs()
        if config.cert_file is not None:
            # A password that would be asked for on a terminal is nobody's to give.
            context.load_cert_chain(config.cert_file, config.key_file, password="")
    except ssl.SSLError as error:
        raise OSError(f"the files of its TLS cannot be used: {error.reason or error}") from None
    return context


def trouble(error: BaseException, tls: "ProviderTls | None") -> str:
    """What kept a connection from being made, in words for operators: nothing of it comes from the other side."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _of_tls(error.reason or "")
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, ConnectionError) and error.errno is None and tls is not None:
        # Who refuses a certificate often says so by closing, and in TLS 1.3 that comes after the handshake.
        return f"it closed the connection: {tls.doubt}"
    if isinstance(error, OSError):
        about = f"{error.filename}: " if error.filename else ""
        return f"{about}{error.strerror or error}"
    return str(error)


def _of_tls(reason: str) -> str:
    if _ASKS in reason:
        return "it asks for a certificate, and the gateway shows none"
    if "ALERT" in reason and any(word in reason for word in _REFUSES):
        return f"it refuses the gateway's certificate ({reason.lower()})"
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return "it does not speak TLS"
    return f"TLS failed ({reason.lower() or 'no reason given'})"
