"""What proves to an OPA server who asks, and to the gateway who answers: a token, and one TLS context."""

import ssl
from pathlib import Path

from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.settings import OpaAccess

_LONGEST_TOKEN = 16 * 1024


class BearerToken:
    """The token that is sent: a fixed one, or what a file holds, which may be replaced while the gateway runs."""

    def __init__(self, token: str, file: Path | None) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._token = token

    def read(self) -> None:
        """Read the file again if it changed. Raises `PolicyUnavailableError`; the token read before stays."""
        if self._file is None:
            return
        try:
            status = self._file.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen == self._seen:
                return
            with self._file.open(encoding="ascii") as opened:
                token = opened.read(_LONGEST_TOKEN).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyUnavailableError(f"the token file of OPA cannot be read: {error}") from None
        if not token or not token.isprintable() or " " in token:
            raise PolicyUnavailableError(f"the token file of OPA holds no token: {self._file}")
        self._token, self._seen = token, seen

    @property
    def headers(self) -> dict[str, str]:
        """The header that carries it."""
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


def tls_context(access: OpaAccess) -> ssl.SSLContext:
    """The one context of all connections; it checks the server's certificate and name.

    Raises `PolicyUnavailableError` for files that cannot be used. Not `ssl.create_default_context`: that writes the
    keys of connections to a file that the environment may name.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if access.ca_file is not None:
            context.load_verify_locations(cafile=str(access.ca_file))
        else:
            context.load_default_certs()
        if access.client_cert is not None:
            key = str(access.client_key) if access.client_key is not None else None
            # A password that would be asked for on a terminal is nobody's to give.
            context.load_cert_chain(str(access.client_cert), key, password="")
    except (OSError, ssl.SSLError) as error:
        raise PolicyUnavailableError(f"the certificates for OPA cannot be used: {error}") from None
    return context
