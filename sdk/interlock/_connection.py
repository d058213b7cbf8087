"""Where the gateway is, and how to speak to it."""

import ipaddress
import os
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc
import grpc.aio

ADDRESS_VARIABLE = "INTERLOCK_ADDRESS"
TOKEN_VARIABLE = "INTERLOCK_TOKEN"  # noqa: S105 -- the name of a variable, not a token
DEFAULT_ADDRESS = "127.0.0.1:7080"
DEFAULT_TIMEOUT = 60.0
MAX_MESSAGE_BYTES = 32 * 1024 * 1024

SyncChannel: TypeAlias = grpc.Channel
AsyncChannel: TypeAlias = grpc.aio.Channel

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A gateway that is just starting is found at once, not a second later.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.primary_user_agent", "interlock-sdk-python"),
)


def is_local(address: str) -> bool:
    """Whether an address cannot leave this machine: a Unix socket or loopback.

    >>> [is_local(one) for one in ("unix:/run/i.sock", "127.0.0.1:7080", "[::1]:7080", "dns:///gateway:7080")]
    [True, True, True, False]
    """
    if address.startswith(("unix:", "unix-abstract:")):
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

    Raises ValueError for plain text to another machine, unless `plaintext` says that it is meant.
    """

    address: str = ""
    token: str | None = field(default=None, repr=False)
    root_certificates: bytes | None = field(default=None, repr=False)
    credentials: grpc.ChannelCredentials | None = field(default=None, repr=False)
    plaintext: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", self.address or os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS)
        if self.token is None:
            object.__setattr__(self, "token", os.environ.get(TOKEN_VARIABLE) or None)
        if self.plaintext and (self.root_certificates or self.credentials):
            raise ValueError("plaintext=True, and certificates: only one of them can be meant")

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every request carries."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def secure(self) -> grpc.ChannelCredentials | None:
        """The TLS credentials; None for plain text, which local addresses speak unless certificates are given."""
        if self.credentials is not None:
            return self.credentials
        if self.root_certificates is not None:
            return grpc.ssl_channel_credentials(self.root_certificates)
        if self.plaintext or is_local(self.address):
            return None
        return grpc.ssl_channel_credentials()

    def open(self) -> SyncChannel:
        """A channel for threads."""
        credentials = self.secure()
        if credentials is None:
            return grpc.insecure_channel(self.address, options=_OPTIONS)
        return grpc.secure_channel(self.address, credentials, options=_OPTIONS)

    def open_async(self) -> AsyncChannel:
        """A channel for the running event loop."""
        credentials = self.secure()
        if credentials is None:
            return grpc.aio.insecure_channel(self.address, options=_OPTIONS)
        return grpc.aio.secure_channel(self.address, credentials, options=_OPTIONS)
