"""Which MCP client is behind a session: who can be asked what an upstream server wants to know (MCP-2)."""

from collections.abc import Mapping
from typing import Any, Protocol


class Client(Protocol):
    """An MCP client that calls through the gateway."""

    @property
    def able(self) -> frozenset[str]:
        """What it can be asked: `sampling`, `elicitation`, `roots`."""
        ...

    async def request(self, method: str, params: Mapping[str, Any], *, key: str = "") -> dict[str, Any]:
        """Ask it, and give its answer as it sent it. `key` is the server's own name for its question, if it has one.

        Raises `RpcError`: the client's own, or in its place, when it cannot be asked, or does not answer in time.
        """
        ...


class Clients:
    """The clients of sessions, while they are there."""

    def __init__(self) -> None:
        self._of: dict[str, Client] = {}

    def register(self, session_id: str, client: Client) -> None:
        """`client` is behind this session from now on."""
        self._of[session_id] = client

    def unregister(self, session_id: str, client: Client) -> None:
        """It is not any more, unless another one is by now."""
        if self._of.get(session_id) is client:
            del self._of[session_id]

    def able(self, session_id: str) -> frozenset[str]:
        """What the client of a session can be asked; nothing when there is none."""
        client = self._of.get(session_id)
        return client.able if client is not None else frozenset()

    def of(self, session_id: str) -> Client | None:
        """The client of a session."""
        return self._of.get(session_id)
