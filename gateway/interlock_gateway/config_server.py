"""The part of the configuration about where the gateway listens."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from interlock_gateway.config_section import Seconds, Section


class Front(StrEnum):
    """What speaks HTTP/2 with agents and operators."""

    NGHTTP2 = "nghttp2"
    GRPCIO = "grpcio"


class ServerConfig(Section):
    """Where the gateway listens."""

    listen: tuple[str, ...] = ("unix:{state}/agent.sock", "127.0.0.1:7080")
    """Addresses for agents: `unix:PATH` or `HOST:PORT`; `{state}` is the state directory, port 0 picks a free one."""
    operator_listen: tuple[str, ...] = ("unix:{state}/operator.sock",)
    """Addresses for operators and approvers. Unix sockets only: whoever may open the file is an operator."""
    socket_mode: Annotated[str, Field(pattern=r"^0[0-7]{3}$")] = "0600"
    """Permissions of the agents' Unix sockets. The operators' sockets are always 0600."""
    plaintext_beyond_loopback: bool = False
    """Accept unencrypted connections from other hosts. Off: listening elsewhere than loopback is refused."""
    front: Front = Front.NGHTTP2
    """What speaks HTTP/2: `nghttp2`, on the gateway's own loop, or `grpcio`, which is slower and in wide use."""
    health_listen: str = ""
    """`HOST:PORT` that serves `grpc.health.v1` and nothing else, in plain text, to whoever asks, as kubelet does;
    empty switches it off, port 0 picks a free one. Beyond loopback too: it tells whether calls are served, no more."""
    drain_delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How long calls are still taken after SIGTERM, when health says NOT_SERVING already: as long as balancers take to
    notice. A second SIGTERM ends it."""
    drain_s: Seconds = 20.0
    """How long calls in flight may take to finish after SIGTERM and `drain_delay_s`."""
