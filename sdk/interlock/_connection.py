"""Where the gateway is, and how to speak to it."""

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import grpc
import grpc.aio

from interlock.tls import ClientTls, checked

ADDRESS_VARIABLE = "INTERLOCK_ADDRESS"
TOKEN_VARIABLE = "INTERLOCK_TOKEN"  # noqa: S105 -- the name of a variable, not a token
TLS_VARIABLES = {
    "ca_file": "INTERLOCK_CA_FILE",
    "cert_file": "INTERLOCK_CERT_FILE",
    "key_file": "INTERLOCK_KEY_FILE",
    "server_name": "INTERLOCK_SERVER_NAME",
}
"""The variables that stand for a `ClientTls`, by its field."""
DEFAULT_ADDRESS = "127.0.0.1:7080"
DEFAULT_TIMEOUT = 60.0
MAX_MESSAGE_BYTES = 32 * 1024 * 1024

SyncChannel: TypeAlias = grpc.Channel
AsyncChannel: TypeAlias = grpc.aio.Channel
Files: TypeAlias = tuple[tuple[int, ...], ...]

_OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A gateway that is just starting is found at once, not a second later.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # In spite of its name, how long an attempt to connect may take: a handshake across the world, or on a busy machine.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # Calls that nobody comes back to within five seconds are withdrawn.
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.primary_user_agent", "interlock-sdk-python"),
)
# Else gRPC goes to loopback, too, through the proxy that `http_proxy` names: plain text would leave this machine.
_DIRECTLY = ("grpc.enable_http_proxy", 0)


def is_local(address: str) -> bool:
    """Whether an address cannot leave this machine: a Unix socket or loopback.

    >>> [is_local(one) for one in ("unix:/run/i.sock", "127.0.0.1:7080", "[::1]:7080", "dns:///gateway:7080")]
    [True, True, True, False]
    """
    if _is_unix(address):
        return True
    for scheme in ("dns:", "ipv4:", "ipv6:"):
        address = address.removeprefix(scheme)
    host = address.lstrip("/").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Connection:
    """An address, and what proves who is calling. Environment variables fill in what is not given.

    Those of TLS are for TCP addresses; a Unix socket needs none. Raises ValueError for what contradicts itself.
    """

    address: str = ""
    token: str | None = field(default=None, repr=False)
    root_certificates: bytes | None = field(default=None, repr=False)
    credentials: grpc.ChannelCredentials | None = field(default=None, repr=False)
    plaintext: bool = False
    tls: ClientTls | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", self.address or os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS)
        if self.token is None:
            object.__setattr__(self, "token", os.environ.get(TOKEN_VARIABLE) or None)
        others = [self.root_certificates, self.credentials]
        if self.plaintext and any(one is not None for one in (*others, self.tls)):
            raise ValueError("plaintext=True, and certificates: only one of them can be meant")
        if self.tls is not None and (any(one is not None for one in others) or _is_unix(self.address)):
            raise ValueError("tls is for host:port, and in place of root_certificates and credentials")
        if not (self.plaintext or self.tls or _is_unix(self.address) or any(one is not None for one in others)):
            object.__setattr__(self, "tls", _tls_of_environment())

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every request carries."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def secure(self) -> grpc.ChannelCredentials | None:
        """The TLS credentials; None for plain text, which local addresses speak unless certificates are given.

        Raises OSError or ValueError for files of `tls` that cannot be read or used.
        """
        if self.credentials is not None:
            return self.credentials
        if self.root_certificates is not None:
            return grpc.ssl_channel_credentials(self.root_certificates)
        if self.tls is not None:
            return _credentials(self.tls)
        if self.plaintext or is_local(self.address):
            return None
        return grpc.ssl_channel_credentials()

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken."""
        given = (self.credentials, self.root_certificates, self.tls)
        return any(one is not None for one in given) or not (self.plaintext or is_local(self.address))

    @property
    def options(self) -> tuple[tuple[str, str | int], ...]:
        """How the channel works."""
        options = (*_OPTIONS, _DIRECTLY) if is_local(self.address) else _OPTIONS
        name = self.tls.server_name if self.tls is not None else ""
        return (*options, ("grpc.ssl_target_name_override", name)) if name else options

    def files(self) -> Files:
        """The state of the files that a channel is opened with, to tell whether others have been put in their place."""
        if self.tls is None:
            return ()
        return tuple(_state(file) for file in (self.tls.ca_file, self.tls.cert_file, self.tls.key_file))

    def open(self) -> SyncChannel:
        """A channel for threads."""
        credentials = self.secure()
        if credentials is None:
            return grpc.insecure_channel(self.address, options=self.options)
        return grpc.secure_channel(self.address, credentials, options=self.options)

    def open_async(self) -> AsyncChannel:
        """A channel for the running event loop."""
        credentials = self.secure()
        if credentials is None:
            return grpc.aio.insecure_channel(self.address, options=self.options)
        return grpc.aio.secure_channel(self.address, credentials, options=self.options)


def _state(file: str | Path | None) -> tuple[int, ...]:
    try:
        found = Path(file).stat() if file is not None else None
    except OSError:
        return ()  # said when the channel is opened
    return () if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _is_unix(address: str) -> bool:
    return address.startswith(("unix:", "unix-abstract:"))


def _tls_of_environment() -> ClientTls | None:
    given = {name: os.environ.get(variable, "") for name, variable in TLS_VARIABLES.items()}
    if not any(given.values()):
        return None
    return ClientTls(
        given["ca_file"] or None, given["cert_file"] or None, given["key_file"] or None, given["server_name"]
    )


def _credentials(tls: ClientTls) -> grpc.ChannelCredentials:
    key_file = tls.key_file if tls.key_file is not None else tls.cert_file
    checked(tls.cert_file, key_file, tls.ca_file)
    files = (None if file is None else Path(file).read_bytes() for file in (tls.ca_file, key_file, tls.cert_file))
    return grpc.ssl_channel_credentials(*files)
