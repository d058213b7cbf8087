"""Why a connection could not be made, in words: gRPC's own name its functions."""

import re
from dataclasses import replace

import grpc

from interlock._connection import Connection
from interlock._flow import Failure

_BROKE = re.compile("Socket closed|[Cc]onnection reset|[Bb]roken pipe|GOAWAY|keepalive watchdog")
_NEVER_MADE = re.compile("failed to connect|connections to all backends failing|resolution failed")
_REFUSED = re.compile(r"CERTIFICATE_VERIFY_FAILED: (?P<why>[^:]+)")


def broke(failure: Failure) -> bool:
    """Whether there was a connection to something that speaks HTTP/2, as far as gRPC's words tell."""
    lost = failure.code is grpc.StatusCode.UNAVAILABLE and not failure.details
    return lost and bool(_BROKE.search(failure.message)) and not _NEVER_MADE.search(failure.message)


def explained(failure: Failure, connection: Connection) -> Failure:
    """The failure with a sentence in front of gRPC's words, if it is about a connection, and TLS may be the reason."""
    if failure.code is not grpc.StatusCode.UNAVAILABLE or failure.details:
        return failure
    words = _words(failure.message, connection)
    return replace(failure, message=f"{words} ({failure.message})") if words else failure


def _words(message: str, connection: Connection) -> str:
    if found := _REFUSED.search(message):
        return f"the gateway's certificate is refused: {found['why'].strip()}"
    if "Hostname Verification Check failed" in message:
        name = connection.tls.server_name if connection.tls is not None else ""
        return f"the gateway's certificate is not for {name or connection.address}"
    if "WRONG_VERSION_NUMBER" in message:
        return f"{connection.address} does not speak TLS"
    if "failed to connect" in message and ("Socket closed" in message or "Connection reset" in message):
        return f"{connection.address} closed the connection: {_doubt(connection)}"
    if "Connection refused" in message and "ipv6:" in message and connection.address.startswith("localhost:"):
        # gRPC tells of the last address alone.
        return "localhost is ::1 as well as 127.0.0.1, and nobody listens at ::1; ask 127.0.0.1 what is wrong there"
    return ""


def _doubt(connection: Connection) -> str:
    # In TLS 1.3 who refuses a certificate does so when the client believes that it is connected.
    if not connection.encrypted:
        return "it may speak TLS"
    shows = connection.credentials is not None or (connection.tls is not None and connection.tls.cert_file is not None)
    return "it may not take the certificate that it was shown" if shows else "it may ask for a certificate"
