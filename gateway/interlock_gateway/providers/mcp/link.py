"""What carries JSON-RPC messages to an MCP server and back, whatever it is made of."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

RequestId = int | str
Receive = Callable[[bytes, RequestId | None], bool]
"""Takes a message as it came, and which request's answer it came with, where the transport knows that.

Whether somebody had asked for it: of the rest a server may not send as much as it likes.
"""


class LinkError(Exception):
    """The server was not reached, or was lost. `unsent`: nothing of the message was sent.

    `message` is in our own words; nothing of it comes from the server.
    """

    def __init__(self, message: str, *, unsent: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.unsent = unsent


class SessionGoneError(LinkError):
    """The server does not know the session any more; what was sent was not looked at."""

    def __init__(self) -> None:
        super().__init__("the MCP server does not know the session any more", unsent=True)


class RefusedError(LinkError):
    """The server refused the message before it looked at what it asks, with HTTP status `status`, in the 400s."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class RpcError(Exception):
    """A request was answered with an error: `code`, `message` and perhaps `data`, as they were sent."""

    def __init__(self, code: int, message: str, data: object = None, *, has_data: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.has_data = has_data


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message: its bytes, of one line, and headers for a transport that has any.

    `request_id` and `answered` are there for a request: `answered` is done once its answer was received.
    """

    body: bytes
    method: str
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: RequestId | None = None
    answered: "asyncio.Future[object] | None" = None


class Link(Protocol):
    """A connection to one MCP server. Messages that come are handed to the `Receive` it was opened with.

    `closing_cancels`: a request is cancelled by no longer listening to its answer, and not by saying so.
    """

    closing_cancels: bool

    async def open(self, receive: Receive, lost: Callable[[str], None]) -> None:
        """Connect; `lost` is called once, with the reason in words, when the connection has ended. `LinkError`."""
        ...

    async def carry(self, outgoing: Outgoing) -> None:
        """Send a message; a transport that has answers come back the same way waits for a request's. `LinkError`."""
        ...

    def adopt(self, version: str, *, modern: bool) -> None:
        """Speak the revision that was agreed on; from now on the server may speak without being asked."""
        ...

    async def close(self) -> None:
        """End the connection, and what was started for it."""
        ...
