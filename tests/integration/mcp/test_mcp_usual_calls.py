"""Calls of the usual form are answered without the SDK's kernel, and nobody can tell (MCP-1, SEC-1, PERF-3).

Each request is sent twice: as it is, and with every call taken for an unusual one, which is the kernel's then.
"""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from interlock_gateway.transport.mcp import http as mcp_http
from interlock_gateway.transport.mcp.direct import Direct
from interlock_gateway.transport.mcp.heads import head_of
from interlock_gateway.transport.mcp.http import McpHttp
from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.usual import Envelopes, UsualCall, usual_call
from mcp_bench import McpBench
from starlette.types import ASGIApp, Receive, Scope, Send

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INFO, ABLE = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
VERSION = "io.modelcontextprotocol/protocolVersion"
NEWEST = "2026-07-28"
ENVELOPE = {VERSION: NEWEST, ABLE: {}, INFO: {"name": "raw", "version": "1"}}
MODERN = {"mcp-protocol-version": NEWEST, "mcp-method": "tools/call", "mcp-name": "echo"}
ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", "\u00e9\n", [], [1], {}, {"a": None}, "2.0", "1", 2**53 - 1]
META: dict[str, list[Any]] = {
    "progressToken": ["t", 7, True, None, {}],
    "traceparent": ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "nonsense", 5, None],
    "tracestate": ["a=b", 1],
    "dev.interlock/session": ["s-of-mine", "", 5, None, {}, "x" * 5000],
    "dev.interlock/workdir": ["/work", 5, "x" * 100_000],
    "dev.interlock/intent": ["to see", None, ["x"]],
    "dev.interlock/deliverable": [{"a": 1}, "x"],
    "dev.interlock/call_id": ["", 3, "no such id ??? " * 40],
    "io.modelcontextprotocol/logLevel": ["info", "loud", None],
    "progress_token": ["x"],
    "unknown/key": [1, None],
    VERSION: [NEWEST, "2025-11-25", "2027-01-01", 5, None],
    ABLE: [{}, None, [], {"sampling": {}}, {"elicitation": {"form": {}}}, {"roots": {"listChanged": "x"}}, {"odd": 1}],
    INFO: [None, {}, {"name": "other", "version": "2"}, {"name": "x"}, {"name": 1, "version": "1"}, "me", 1],
}
PARAMS: dict[str, list[Any]] = {
    "name": ["echo", "say", "careful", "nobody", "", "x" * 300, *ODD],
    "arguments": [{"text": "x"}, {"text": 1.10}, {"txt": "x"}, {"text": "x", "_interlock_deliverable": {}}, *ODD],
    "task": [None, {}, {"ttl": 5}, "x"],
    "inputResponses": [{}, {"approval": {"action": "accept"}}, "x"],
    "requestState": ["", "forged", 1],
    "unknown": ODD,
}
MESSAGE: dict[str, list[Any]] = {
    "jsonrpc": ["2.0", "1.0", 2.0, None],
    "id": [1, "a", "7", 0, -5, True, None, 1.0, {}, []],
    "method": ["tools/call", "tools/list", "ping", "prompts/get", "nonsense", "", 5, None],
    "params": ODD,
    "result": [{}, None],
    "unknown": ODD,
}
HEADERS: dict[str, list[str]] = {
    "accept": ["application/json", "text/event-stream", "*/*", "text/html", "application/*, text/*"],
    "content-type": ["text/plain", "application/json; charset=utf-8", "APPLICATION/JSON", ""],
    "mcp-protocol-version": [NEWEST, "2025-11-25", "2025-03-26", "2030-01-01", "x"],
    "mcp-session-id": ["nobody's", ""],
    "mcp-method": ["tools/call", "tools/list", ""],
    "mcp-name": ["echo", "other", "", "=?base64?ZWNobw==?=", "=?base64?????=", "ECHO"],
    "interlock-session": ["s-of-mine", "", "x" * 3000],
    "origin": ["http://localhost:1", "https://evil.example"],
    "traceparent": ["x"],
}
ODDITIES = 350
Request = tuple[dict[str, str], bytes]


def requests(seed: str, headers: dict[str, str], meta: dict[str, Any]) -> Iterator[Request]:
    """Calls with up to three things about them changed, and some that are no JSON."""
    chance = random.Random(seed)
    yield headers, body(meta, {}, {}, chance)
    for _ in range(ODDITIES):
        sent, about = dict(headers), dict(meta)
        params: dict[str, Any] = {}
        message: dict[str, Any] = {}
        for _ in range(chance.randint(0, 3)):
            places: list[tuple[dict[str, Any], dict[str, list[Any]]]] = [
                (about, META),
                (about, META),
                (params, PARAMS),
                (params, PARAMS),
                (message, MESSAGE),
                (sent, HEADERS),
            ]
            where, pool = chance.choice(places)
            key = chance.choice(list(pool))
            where[key] = chance.choice(pool[key])
            if chance.random() < 0.15:
                where[key] = DROPPED
        yield {key: value for key, value in sent.items() if value is not DROPPED}, body(about, params, message, chance)


DROPPED: Any = object()


def body(meta: dict[str, Any], params: dict[str, Any], message: dict[str, Any], chance: random.Random) -> bytes:
    about = {"_meta": kept(meta)} if meta or chance.random() < 0.5 else {}
    called = kept({"name": "echo", "arguments": {"text": "x"}, **about, **params})
    whole = kept({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called, **message})
    text = json.dumps(whole, indent=chance.choice([None, None, 1]), ensure_ascii=chance.random() < 0.5).encode()
    if chance.random() < 0.05:
        return chance.choice([text[:-1], text + b" x", text.replace(b"{", b'{"id":9,"id":8,', 1), b"[" + text + b"]"])
    return text


def kept(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not DROPPED}


@contextmanager
def taken_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside the block no call counts as one of the usual form."""
    with monkeypatch.context() as patched:
        patched.setattr(mcp_http, "usual_call", lambda _message: None)
        yield


NAMES = (
    re.compile(rb'(?<="dev.interlock/call_id":")[^"]+'),
    re.compile(rb'(?<="dev.interlock/decision":\{"id":")[^"]+'),
)


async def told(at: McpBench, http: httpx2.AsyncClient, request: Request) -> tuple[int, dict[str, str], bytes]:
    """The answer, but for the names that are new for each call."""
    headers, content = request
    answer = await http.post(at.url, content=content, headers=headers)
    shown = answer.content
    for name in NAMES:
        shown = name.sub(b"", shown)
    lengths = ("content-length", "transfer-encoding", "date")
    return answer.status_code, {key: value for key, value in answer.headers.items() if key not in lengths}, shown


class Counted:
    """How many calls were answered without the kernel."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.direct = 0
        for name in ("in_session", "alone"):
            monkeypatch.setattr(Direct, name, self._counting(getattr(Direct, name)))

    def _counting(self, real: Any) -> Any:
        def counting(*given: Any) -> Any:
            found = real(*given)
            self.direct += found is not None
            return found

        return counting


async def in_session(at: McpBench, http: httpx2.AsyncClient, version: str, able: dict[str, Any]) -> dict[str, str]:
    params = {"protocolVersion": version, "capabilities": able, "clientInfo": {"name": "raw", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    answer = await http.post(at.url, json=opening, headers=ACCEPT)
    return {**ACCEPT, "mcp-session-id": str(answer.headers["mcp-session-id"]), "mcp-protocol-version": version}


@pytest.mark.req("MCP-1", "SEC-1", "PERF-3")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", NEWEST])
async def test_a_call_is_answered_alike_with_the_kernel_and_without(
    at: McpBench, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    counted = Counted(monkeypatch)
    async with at.http() as http:
        headers, meta = {**ACCEPT, **MODERN}, ENVELOPE
        if version != NEWEST:
            headers, meta = await in_session(at, http, version, {"elicitation": {}}), {}
        for request in requests(version, headers, meta):
            ran = len(at.at.ledger.ran)
            without = await told(at, http, request)
            effect = at.at.ledger.ran[ran:]
            with taken_by_the_kernel(monkeypatch):
                assert without == await told(at, http, request), request
            assert at.at.ledger.ran[ran + len(effect) :] == effect, request
    assert ODDITIES * 0.15 < counted.direct < ODDITIES * 0.7


@pytest.mark.req("SEC-7", "PERF-3")
async def test_who_has_no_credential_or_another_session_is_refused_alike(
    at: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {}}})
    alone = json.dumps({**json.loads(call), "params": {"name": "echo", "_meta": ENVELOPE}})
    whose = (at.http(), at.http(at.other), at.http(at.operator), httpx2.AsyncClient())
    async with whose[0] as http, whose[1] as other, whose[2] as boss, whose[3] as nobody:
        owned = await in_session(at, http, "2025-11-25", {})
        asked = [(owned, call.encode()), ({**ACCEPT, **MODERN}, alone.encode())]
        for client in (nobody, other, boss):
            for request in asked:
                without = await told(at, client, request)
                with taken_by_the_kernel(monkeypatch):
                    assert without == await told(at, client, request)
    assert at.at.ledger.ran == []


@pytest.mark.req("SEC-7", "MCP-1")
async def test_a_call_whose_session_ends_before_it_begins_does_not_run(
    at: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending: list[str] = []
    real = McpHttp.at_once

    def at_once(self: McpHttp, scope: Scope, body: bytes) -> ASGIApp | None:
        found = real(self, scope, body)
        if found is None or not ending:
            return found

        async def later(scope: Scope, receive: Receive, send: Send) -> None:
            async with at.http() as other:
                await other.delete(at.url, headers={**ACCEPT, "mcp-session-id": ending.pop()})
            await found(scope, receive, send)

        return later

    monkeypatch.setattr(McpHttp, "at_once", at_once)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
    async with at.http() as http:
        headers = await in_session(at, http, "2025-11-25", {})
        ending.append(headers["mcp-session-id"])
        answer = await http.post(at.url, json=call, headers=headers)
        again = await http.post(at.url, json=call, headers=headers)
    assert (answer.status_code, again.status_code) == (404, 404)
    assert at.at.ledger.ran == []


def test_an_envelope_that_is_good_makes_no_other_good() -> None:
    head = head_of([(key.encode(), value.encode()) for key, value in {**ACCEPT, **MODERN}.items()], Origins((), ()))

    def said(able: Any, **more: Any) -> UsualCall:
        call = usual_call(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "_meta": {VERSION: NEWEST, ABLE: able, **more}},
            }
        )
        assert call is not None
        return call

    envelopes = Envelopes()
    odd: Any
    for _ in range(2):
        assert envelopes.of(said({}), head) is not None
        assert envelopes.of(said({}, **{INFO: {"name": "a", "version": "1"}}), head) is not None
        for odd in ([], 0, False, "", None, {"roots": 1}, {"sampling": True}):
            assert envelopes.of(said(odd), head) is None
        for odd in ({}, [], 0, False, {"name": "a"}):
            assert envelopes.of(said({}, **{INFO: odd}), head) is None
