"""Consent to what a provider's tools declare, asked once of the person at the client (TOOL-3, MCP-4).

Only where the operator says that this person may: `mcp.people` with `confirms`, as in `interlock mcp wrap`. Until there
is consent the tools count as undeclared, whether or not anybody was asked.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.session import Principal
from interlock_gateway.core.tool import Effect, PinState, classify
from interlock_gateway.core.visible import visible_line
from interlock_gateway.errors import RequestError
from interlock_gateway.operate.confirm import Confirmations, tools_digest
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.providers.port import EventSink
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.mcp.checkpoint_calls import AskFirst, CheckpointCalls
from interlock_gateway.transport.mcp.clients import Client
from interlock_gateway.transport.mcp.parts import SurfaceParts

QUESTION = "consent"
STATE = "consent:"
"""What the state of a request begins with whose client is asked for consent; the digest of what was shown follows.

It is not sealed: it says nothing that was not shown, and what is not the digest of what is there now is worth nothing.
"""
YES = "yes"
MOST_NAMES = 60
HINT = (
    "Nobody has consented yet to what the tools of this server declare, so each counts as one that may do anything. "
    "Tell the person you work for: they can consent in a terminal, with the command that the client starts this server "
    "with and --confirm after `interlock mcp wrap`."
)
NOBODY_HINT = (
    "Nobody can be asked through this client. Tell the person you work for: what this server wrote to its log when it "
    "started says how to answer for such calls in a terminal."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        # No stands first: a client that chooses the first of a list for its user chooses that.
        QUESTION: {"type": "string", "title": "Take this as true?", "enum": ["no", YES]},
    },
    "required": [QUESTION],
}
_HEADS = {
    Effect.READ_ONLY: "only read, and run without a question from now on",
    Effect.MUTATING: "change something",
    Effect.DESTRUCTIVE: "may destroy something, and are still asked about",
    Effect.UNDECLARED: "say nothing of themselves, and are still asked about",
}


class ConsentAsking:
    """Asks, each question once for what is declared as long as the gateway runs."""

    def __init__(self, parts: SurfaceParts, calls: CheckpointCalls) -> None:
        self._calls = calls
        self._registry = parts.parts.registry
        self._people = parts.approvals.people
        self._may = {one.agent for one in parts.config.people if one.confirms}
        self._ask_s = parts.config.ask_s
        self._confirmations = Confirmations(parts.parts.registry, parts.store.pins, parts.parts.clock)
        self._asked: set[str] = set()
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def handle(
        self, principal: Principal, call: CallRequest, client: Client, on_event: EventSink
    ) -> CallResult | AskFirst:
        """One call, before which the person at the client may be asked."""
        if principal.id not in self._may:
            return await self._calls.handle(principal, call, client, on_event)
        asking = await self._before(principal, call.tool, client)
        if asking is not None:
            return asking
        answer = await self._calls.handle(principal, call, client, on_event)
        return self._hinted(call.tool, answer) if isinstance(answer, CallResult) else answer

    async def _before(self, principal: Principal, tool: str, client: Client) -> AskFirst | None:
        returned, client.state = _returned(client)
        found = self._registry.find(tool)
        if found is None or found.pin_state is not PinState.UNCONFIRMED or not client.elicits:
            return None
        async with self._asking[found.provider]:
            tools = self._unconfirmed(found.provider)
            seen = {one.name: one.sha256 for one in tools}
            digest = tools_digest(seen)
            answer: Mapping[str, Any] = {}
            if client.carries_rounds and returned == digest:
                answer = client.answers.get(QUESTION) or {}
            elif tools and digest not in self._asked:
                self._asked.add(digest)
                question = {"mode": "form", "message": _message(found.provider, tools), "requestedSchema": _SCHEMA}
                if client.carries_rounds:
                    return AskFirst({QUESTION: {"method": "elicitation/create", "params": question}}, STATE + digest)
                with contextlib.suppress(MCPError):
                    answer = await client.request("elicitation/create", question, self._ask_s)
            await self._take(principal, found.provider, seen, answer)
            return None

    def _hinted(self, tool: str, result: CallResult) -> CallResult:
        """The answer, with how to consent, or to have somebody asked, where that would have helped."""
        found = self._registry.find(tool)
        lacking = found is not None and found.pin_state is PinState.UNCONFIRMED
        if lacking and result.status in {CallStatus.DENIED, CallStatus.AWAITING_CHECKPOINT}:
            return result.steered(HINT)
        reasons = result.decision.reasons if result.decision is not None else ()
        nobody = any(reason.code == "checkpoint_unavailable" for reason in reasons)
        return result.steered(NOBODY_HINT) if nobody and result.status is CallStatus.DENIED else result

    async def _take(
        self, principal: Principal, provider: str, seen: Mapping[str, str], answer: Mapping[str, Any]
    ) -> None:
        """Act on the client's answer; what is no plain yes is none."""
        content = answer.get("content") if answer.get("action") == "accept" else None
        person = self._people.of(principal.id)
        if person is None or not isinstance(content, Mapping) or content.get(QUESTION) != YES:
            return
        try:
            await self._confirmations.confirm(person, provider, seen, "consented at the MCP client")
        except (RequestError, StateError):
            return  # it has changed meanwhile, or cannot be kept: the tools go on as undeclared

    def _unconfirmed(self, provider: str) -> list[RegisteredTool]:
        tools = self._registry.tools_of(provider)
        return sorted((one for one in tools if one.pin_state is PinState.UNCONFIRMED), key=lambda one: one.name)


def _returned(client: Client) -> tuple[str, str | None]:
    """The digest that a question of ours was about, and the state without it."""
    if client.state is None or not client.state.startswith(STATE):
        return "", client.state
    return client.state.removeprefix(STATE), None


def _message(provider: str, tools: Iterable[RegisteredTool]) -> str:
    names: defaultdict[Effect, list[str]] = defaultdict(list)
    for tool in tools:
        names[classify(tool.declared).effect].append(tool.name)
    lines = [f"What the tools of {visible_line(provider)} declare of themselves. Nobody has checked it.", ""]
    for effect, head in _HEADS.items():
        if found := names[effect]:
            more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
            lines += [f"These {head}:", f"    {', '.join(found[:MOST_NAMES])}{more}", ""]
    return "\n".join([*lines, "If you take it as true, calls are governed by it. This is asked once."])
