"""Who may call a provider: whoever has its token, and shows one of the certificates that it lets in."""

import hmac
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

import grpc

from interlock.tls import ServerTls, checked

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]
Seen: TypeAlias = tuple[tuple[int, int, int], ...]
# What gRPC calls what it has checked of a caller's certificate.
_URIS, _SUBJECT = "peer_uri", "x509_subject"
_log = logging.getLogger("interlock.provider")


class Callers:
    """What a caller has to bring: nothing, unless there is a token, or certificates are named."""

    def __init__(self, token: str | None, clients: tuple[str, ...]) -> None:
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._clients = frozenset(clients)

    def has_token(self, metadata: Metadata) -> bool:
        """Whether the token is in the metadata, if there has to be one."""
        if self._expected is None:
            return True
        given = [value for key, value in metadata if key == "authorization"]
        sent = given[0] if len(given) == 1 else b""
        return hmac.compare_digest(sent.encode() if isinstance(sent, str) else sent, self._expected)

    @property
    def are_named(self) -> bool:
        """Whether only some of those with a certificate are let in."""
        return bool(self._clients)

    def has_certificate(self, shown: Mapping[str, Iterable[bytes]]) -> bool:
        """Whether what gRPC has checked of a certificate is one of those that are let in.

        A SPIFFE ID counts only as the certificate's one URI, as SPIFFE has it.
        """
        uris = [uri.decode("utf-8", "replace") for uri in shown.get(_URIS, ())]
        subjects = [subject.decode("utf-8", "replace") for subject in shown.get(_SUBJECT, ())]
        return not self._clients.isdisjoint(subjects) or (len(uris) == 1 and uris[0] in self._clients)


def server_credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """What a server shows and asks for; read again for a new connection when the files have changed.

    Raises ValueError for files that cannot be used, OSError for those that are not there.
    """
    files = _Files(tls)
    # `None` means no change; grpcio says so, and its types do not.
    changed = cast("Callable[[], grpc.ServerCertificateConfiguration]", files.changed)
    return grpc.dynamic_ssl_server_credentials(files.read(), changed, tls.client_ca_file is not None)


class _Files:
    """The files of a server's TLS."""

    def __init__(self, tls: ServerTls) -> None:
        self._tls = tls
        self._seen: Seen = ()

    def read(self) -> grpc.ServerCertificateConfiguration:
        """What they hold."""
        seen, tls = self._state(), self._tls
        key_file = tls.key_file if tls.key_file is not None else tls.cert_file
        checked(tls.cert_file, key_file, tls.client_ca_file)
        pair = Path(key_file).read_bytes(), Path(tls.cert_file).read_bytes()
        authorities = None if tls.client_ca_file is None else Path(tls.client_ca_file).read_bytes()
        self._seen = seen
        return grpc.ssl_server_certificate_configuration([pair], authorities)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """What they hold now; `None` when that is what is in use, and when it cannot be used: what is goes on."""
        try:
            return self.read() if self._state() != self._seen else None
        except (OSError, ValueError) as error:
            _log.warning("the certificates have changed and cannot be used: %s", error)
            return None

    def _state(self) -> Seen:
        files = (self._tls.cert_file, self._tls.key_file, self._tls.client_ca_file)
        found = [Path(file).stat() for file in files if file is not None]
        return tuple((one.st_mtime_ns, one.st_size, one.st_ino) for one in found)
