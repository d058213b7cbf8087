"""How an OPA server is reached, and how long and how often it is asked."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OpaAccess:
    """Where an OPA server is and what proves who asks.

    `socket` is the path of a Unix socket, in place of `host` and `port`. `token` or what `token_file` holds is sent as
    a bearer token. With `tls` its certificate is checked against `ca_file`, or the system's authorities without one.
    """

    host: str = "127.0.0.1"
    port: int = 8181
    socket: str = ""
    tls: bool = False
    token: str = ""
    token_file: Path | None = None
    ca_file: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None

    @property
    def shown(self) -> str:
        """The address as an operator wrote it, without what is secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.socket}" if self.socket else f"{'https' if self.tls else 'http'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class OpaBounds:
    """What asking may take.

    One decision may take `timeout_s`, all of it together; `connections` are asked at once and `queued` more wait for
    one. An answer has at most `answer_bytes`. After `failures` in a row the server is left alone, and tried again after
    `retry_s`, then after twice as long each time, up to `longest_retry_s`. `look_s` is how often a server that nobody
    asks is looked at. Loading policies may take `load_s` for each request.
    """

    timeout_s: float = 0.25
    connections: int = 32
    queued: int = 256
    answer_bytes: int = 1024 * 1024
    failures: int = 5
    retry_s: float = 0.5
    longest_retry_s: float = 10.0
    look_s: float = 1.0
    load_s: float = 10.0
