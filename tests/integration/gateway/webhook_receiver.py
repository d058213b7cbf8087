"""A server that webhooks post to, and the signed answers that come back: as another program would be."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2
from interlock_gateway.approvals.webhooks.signing import SLACK_SIGNATURE, SLACK_TIMESTAMP, sign, slack_signature

KEY = b"k" * 32
SECRET = "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass
class Received:
    """One request that came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """Takes posts, and answers them with the statuses that it is given, 200 when there are no more."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    requests: "asyncio.Queue[Received]" = field(default_factory=asyncio.Queue)

    async def next(self) -> Received:
        """The next request."""
        return await asyncio.wait_for(self.requests.get(), 20)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        status = self.statuses.pop(0) if self.statuses else 200
        writer.write(f"HTTP/1.1 {status} So\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        self.requests.put_nowait(Received(head[0].split()[1], headers, body))


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver on a port of its own."""
    made = Receiver()
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    async with server:
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook/T0/SECRET-PATH"
        yield made


@dataclass
class Doors:
    """The gateway's HTTP side, as people, Slack and other programs reach it."""

    address: str
    client: httpx2.AsyncClient

    async def signed(self, webhook: str, answer: dict[str, Any], **how: Any) -> httpx2.Response:
        """A signed answer; `how`: `key`, `message_id`, `ago_s`, `body` to send in place of the one that was signed."""
        body = json.dumps(answer).encode()
        identity = how.get("message_id") or f"msg_{secrets.token_hex(8)}"
        headers = sign(how.get("key", KEY), identity, int(time.time() - how.get("ago_s", 0)), body)
        headers |= how.get("headers", {})
        url = f"http://{self.address}/approvals/answers/{webhook}"
        return await self.client.post(url, content=how.get("body", body), headers=headers)

    async def pressed(self, webhook: str, user: str, action: str, value: str, **how: Any) -> httpx2.Response:
        """A button pressed in Slack; `how`: `reason`, `secret`, `ago_s`, `body`."""
        payload: dict[str, Any] = {
            "type": "block_actions",
            "user": {"id": user, "username": "somebody"},
            "actions": [{"type": "button", "action_id": action, "value": value}],
            "state": {"values": {"interlock_reason": {"reason": {"value": how.get("reason")}}}},
            "response_url": "https://hooks.slack.com/actions/T0/1/x",
        }
        body = urlencode({"payload": json.dumps(payload)}).encode()
        at = int(time.time() - how.get("ago_s", 0))
        headers = {
            SLACK_TIMESTAMP: str(at),
            SLACK_SIGNATURE: slack_signature(how.get("secret", SLACK_SECRET), at, body),
            "content-type": "application/x-www-form-urlencoded",
        }
        url = f"http://{self.address}/approvals/slack/{webhook}"
        return await self.client.post(url, content=how.get("body", body), headers=headers)


@asynccontextmanager
async def doors(address: str) -> AsyncIterator[Doors]:
    """The gateway's HTTP side at `address`."""
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
        yield Doors(address, client)
