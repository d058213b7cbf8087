"""What an MCP server asks while it runs a call, handed to the client whose call it is, or refused (MCP-2)."""

import asyncio
from collections.abc import Mapping
from typing import Any

from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.link import RpcError

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
_KIND_OF = {SAMPLING: "sampling", ELICITATION: "elicitation", ROOTS: "roots"}
_NOBODY = -32600
MAX_QUESTIONS = 32
STATE_ONLY_S = 0.25
"""How long a server that asks for nothing but to be called again is left alone."""


class Relay:
    """The way from one server to the clients. `allowed` is what it may ask: `sampling` and so on."""

    def __init__(self, provider: str, allowed: frozenset[str], clients: Clients) -> None:
        self._provider = provider
        self._allowed = allowed
        self._clients = clients

    def able(self, session_id: str) -> frozenset[str]:
        """What the client behind a session can be asked."""
        return self._clients.able(session_id)

    async def ask(
        self, method: str, params: Mapping[str, Any], session_id: str, key: str = ""
    ) -> dict[str, Any] | None:
        """The answer of the client behind the session; `None` when the server may not ask. Raises `RpcError`."""
        if _KIND_OF.get(method) not in self._allowed:
            return None
        client = self._clients.of(session_id)
        if client is None:
            raise RpcError(_NOBODY, "there is no client that could be asked")
        return await client.request(method, params, key=key)

    async def answers(self, result: Mapping[str, Any], session_id: str) -> dict[str, Any]:
        """What a call is sent again with, on the newest revision, when its result is a list of questions.

        Raises `ProviderFailedError` for questions that the server may not ask, and `RpcError` of the client.
        """
        questions = result.get("inputRequests") or {}
        if not isinstance(questions, dict) or len(questions) > MAX_QUESTIONS:
            raise ProviderFailedError(f"{self._provider} asks for input in a form that cannot be read")
        more: dict[str, Any] = {}
        if questions:
            more["inputResponses"] = await self._answers(questions, session_id)
        else:
            await asyncio.sleep(STATE_ONLY_S)
        if isinstance(state := result.get("requestState"), str):
            more["requestState"] = state
        return more

    async def _answers(self, questions: Mapping[str, Any], session_id: str) -> dict[str, Any]:
        """All at once: a client that answers by sending its request again is asked once for all."""
        asking = {key: asyncio.create_task(self._answer(key, one, session_id)) for key, one in questions.items()}
        try:
            await asyncio.gather(*asking.values())
        finally:
            for task in asking.values():
                task.cancel()
        return {key: task.result() for key, task in asking.items()}

    async def _answer(self, key: str, question: Any, session_id: str) -> dict[str, Any]:
        method = question.get("method") if isinstance(question, dict) else None
        params = question.get("params") if isinstance(question, dict) else None
        answer = await self.ask(str(method), params if isinstance(params, dict) else {}, session_id, key)
        if answer is None:
            raise ProviderFailedError(f"{self._provider} asks for input, which it is not allowed to")
        return answer
