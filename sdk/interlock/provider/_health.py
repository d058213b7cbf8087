"""Health on an address of its own, for those who cannot speak TLS or show a token: probes."""

from typing import Any, TypeAlias

import grpc
import grpc.aio

HEALTH = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"  # HealthCheckResponse{status}

_LAST_PORT = 65535

# The stubs' classes take type arguments that the real ones do not.
MethodHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Health:
    """What health says: `serving` until calls are taken no more."""

    def __init__(self) -> None:
        self.serving = True

    async def check(self, _request: bytes, _context: Context) -> bytes:
        """Answer `grpc.health.v1.Health/Check`, whichever service it is about."""
        return _SERVING if self.serving else _NOT_SERVING


class HealthPort(grpc.GenericRpcHandler):
    """Answers about health and nothing else, in plain text, at `host:port`, where port 0 takes a free one.

    Raises ValueError for an address of another form.
    """

    def __init__(self, health: Health, address: str) -> None:
        if not _is_host_and_port(address):
            raise ValueError(f"health is answered at host:port, or [address]:port for IPv6; {address!r} is neither")
        self.address = address
        self._handler: MethodHandler = grpc.unary_unary_rpc_method_handler(health.check)
        self._server: grpc.aio.Server | None = None

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "MethodHandler | None":
        """The one method that there is."""
        return self._handler if handler_call_details.method == f"/{HEALTH}/Check" else None

    async def start(self) -> None:
        """Bind and answer. Raises OSError when the address cannot be bound."""
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 4096)))
        server.add_generic_rpc_handlers((self,))
        try:
            port = server.add_insecure_port(self.address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self.address}") from error
        self.address = f"{self.address.rpartition(':')[0]}:{port}"
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Answer no more."""
        if self._server is not None:
            await self._server.stop(0.0)
            self._server = None


def _is_host_and_port(address: str) -> bool:
    """Whether it is what gRPC takes for nothing else, such as the socket `1` of `unix:1`.

    >>> [_is_host_and_port(one) for one in ("0.0.0.0:8081", "[::]:0", "localhost:8081")]
    [True, True, True]
    >>> [_is_host_and_port(one) for one in ("unix:/run/h.sock", "unix:1", "ipv4:0.0.0.0:1", "::1", "8081", ":8081")]
    [False, False, False, False, False, False]
    """
    host, _, port = address.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host.replace(":", "/")
    is_name = bool(bare) and "/" not in bare and not address.startswith(("unix:", "unix-abstract:"))
    return is_name and port.isascii() and port.isdigit() and int(port) <= _LAST_PORT
