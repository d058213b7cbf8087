"""Who speaks something else than what is spoken at a port is told what is, and where theirs is (MCP-1)."""

import re

from interlock_gateway.http2.link import Link

PREFACE = b"PRI * HTTP/2.0\r\n"
"""How every client of HTTP/2 begins."""
GRPC_IS_ELSEWHERE = "MCP is spoken at this port, over HTTP/1.1; gRPC is spoken at those of server.listen"
_WORDS = b"gRPC is spoken here, over HTTP/2; MCP is spoken at the addresses of mcp.listen"
_BODY = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"%b"}}' % _WORDS
MCP_IS_ELSEWHERE = (
    b"HTTP/1.1 421 Misdirected Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b"
) % (len(_BODY), _BODY)
_LINE = re.compile(rb"\s*\{")
"""How a client of MCP begins that speaks it in lines, as over a Unix socket."""
_OLDER = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH) [/*h]")


class SpeaksSecond(Link):
    """The server's end, which says nothing before the client does: who speaks HTTP/1 would read that and no more."""

    silent = True
    is_other = False
    """Whether TLS says already that the client speaks something else."""

    def greeted(self, data: bytes) -> bool:
        """Speak, now that the client has; whether it is HTTP/2 that it speaks. Who speaks MCP is told where to."""
        in_lines = not self.is_other and _LINE.match(data) is not None
        if not (self.is_other or in_lines or _OLDER.match(data)):
            self.speak()
            return True
        if self._transport is not None:
            self._transport.write(_BODY + b"\n" if in_lines else MCP_IS_ELSEWHERE)
        return False

    def speak(self) -> None:
        """Say what there is to be said, from now on."""
        self.silent = False
        self.flush()

    def flush(self) -> None:
        """Send what may be sent, if anything may be said."""
        if not self.silent:
            super().flush()
