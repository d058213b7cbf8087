"""What agentgateway does with calls and lists, as far as its policy server sees it; and a gateway that it asks."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from foreign_description import SERVICE, Messages, messages
from google.protobuf import json_format
from interlock_gateway.app import running
from interlock_gateway.config import Config, IdentityConfig, PolicyConfig, ServerConfig, StateConfig, TokenConfig
from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.config_telemetry import MetricsConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token
from interlock_gateway.serving import Gateway

PATIENCE_S = 20.0
Upstream = Callable[[dict[str, Any]], dict[str, Any]]
CHANGES: dict[str, Any] = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
READS: dict[str, Any] = {"readOnlyHint": True, "openWorldHint": False}


class RejectedError(Exception):
    """What the client is told in place of a result."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.reason)
        self.code = error.code
        self.reason = error.reason
        self.mcp_error: Any = json.loads(error.mcp_error) if error.HasField("mcp_error") else None


@dataclass
class OtherGateway:
    """One agentgateway with one MCP server behind it."""

    channel: grpc.aio.Channel
    token: str = ""
    service: str = "files"
    with_number: bool = True
    made: Messages = field(default_factory=messages)

    async def list(
        self, *tools: dict[str, Any], user: str = "ana", services: tuple[str, ...] = (), **more: Any
    ) -> list[dict[str, Any]]:
        """A list of tools, as the client is given it."""
        names = services or (self.service,)
        await self.request("tools/list", None, names, user)
        result = await self.respond("tools/list", {"tools": list(tools), **more}, names, user)
        return list(result["tools"])

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        upstream: Upstream | None = None,
        *,
        user: str = "ana",
        session: str = "one",
        **params: Any,
    ) -> dict[str, Any]:
        """A call, which `upstream` answers with a result if it is let through. Raises `RejectedError`."""
        asked = {"name": name, "arguments": arguments or {}, **params}
        sent, number = await self.request("tools/call", asked, (self.service,), user, session)
        result = (upstream or saying("done"))(sent)
        return await self.respond("tools/call", result, (self.service,), user, session, number=number)

    async def request(
        self, method: str, params: Any, services: tuple[str, ...], user: str = "ana", session: str = "one"
    ) -> tuple[dict[str, Any], str]:
        """Ask about a request: the params to go on with, and what the answer called it."""
        raw = params if isinstance(params, bytes | None) else json.dumps(params).encode()
        asked = self.made.request(service_names=services, method=method, mcp_request=raw)
        self._say(asked, user, session, "")
        answer = await self._ask("CheckRequest", asked, self.made.request_result)
        kind = answer.WhichOneof("result")
        if kind == "error":
            raise RejectedError(answer.error)
        number = json_format.MessageToDict(answer.metadata).get("interlock_call", "")
        return json.loads(answer.mutated if kind == "mutated" else raw or b"{}"), number

    async def respond(
        self,
        method: str,
        result: dict[str, Any] | bytes,
        services: tuple[str, ...],
        user: str = "ana",
        session: str = "one",
        *,
        number: str = "",
    ) -> dict[str, Any]:
        """Ask about a result: what the client is given. Raises `RejectedError`."""
        raw = result if isinstance(result, bytes) else json.dumps(result).encode()
        asked = self.made.response(service_names=services, method=method, mcp_response=raw)
        self._say(asked, user, session, number if self.with_number else "")
        answer = await self._ask("CheckResponse", asked, self.made.response_result)
        match answer.WhichOneof("result"):
            case "error":
                raise RejectedError(answer.error)
            case "mutated":
                changed: dict[str, Any] = json.loads(answer.mutated)
                return changed
            case "pass":
                same: dict[str, Any] = json.loads(raw)
                return same
        raise AssertionError("the answer says nothing")

    def _say(self, asked: Any, user: str, session: str, number: str) -> None:
        said = {"interlock_principal": user, "interlock_session": session, "interlock_call": number}
        for key, text in said.items():
            if text:
                asked.metadata_context.fields[key].string_value = text

    async def _ask(self, rpc: str, asked: Any, answer: Any) -> Any:
        called: Any = self.channel.unary_unary(
            f"{SERVICE}/{rpc}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        metadata = (("authorization", f"Bearer {self.token}"),) if self.token else ()
        return await called(asked, timeout=PATIENCE_S, metadata=metadata)


def tool(name: str, description: str = "A tool.", **hints: Any) -> dict[str, Any]:
    """A tool as MCP lists it."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, "annotations": hints}


def saying(text: str, **more: Any) -> Upstream:
    """An MCP server that always answers with this text."""
    return lambda _: {"content": [{"type": "text", "text": text}], **more}


@dataclass
class Asked:
    """A gateway, the other one, and the token that it has."""

    gateway: Gateway
    other: OtherGateway
    tokens: Mapping[str, str]

    def at(self, **changes: Any) -> OtherGateway:
        """Another one of the other gateways, on the same channel."""
        return OtherGateway(**{"channel": self.other.channel, "token": self.other.token, **changes})


@asynccontextmanager
async def asked(directory: Path, extmcp: dict[str, Any] | None = None, **changes: Any) -> AsyncIterator[Asked]:
    """A gateway that one other asks over TCP, as the principal `proxy`."""
    made = {who: new_token() for who in ("proxy", "stranger")}
    tokens = tuple(
        TokenConfig(principal=who, sha256=digest, roles=(Role.PROVIDER,)) for who, (_, digest) in made.items()
    )
    settings = ExtMcpConfig(
        **{"listen": ("127.0.0.1:0",), "callers": ("proxy",), "trust": "declared", **(extmcp or {})}
    )
    config = Config(
        **{
            "state": StateConfig(dir=directory / "state"),
            "metrics": MetricsConfig(listen=""),
            "server": ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), drain_s=5.0),
            "policy": PolicyConfig(timeout_s=5.0, watch=False),
            "identity": IdentityConfig(tokens=tokens),
            "extmcp": settings,
            **changes,
        }
    )
    async with running(config) as gateway, grpc.aio.insecure_channel(gateway.endpoints.extmcp[-1]) as channel:
        other = OtherGateway(channel, made["proxy"][0])
        yield Asked(gateway, other, {who: token for who, (token, _) in made.items()})


async def rejected(call: Any) -> RejectedError:
    """What a call was rejected with."""
    with pytest.raises(RejectedError) as caught:
        await call
    return caught.value


async def operations(at: Asked) -> list[Any]:
    """The journal, whose-ever it is."""
    parts = at.gateway.rooms.parts
    (session,) = [one for one in parts.sessions._live if one.startswith("extmcp-")]
    return list(await parts.store.journal.list_operations(session, 10))
