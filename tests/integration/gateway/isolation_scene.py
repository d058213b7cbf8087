"""A gateway at which two agents have one of everything, with callers of every kind: what `access.yaml` is played on."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from access_table import PATIENCE_S, Refusal, asked, method_of, path_of, request_with
from asked_people import asking
from certificates import Authority
from gateway_bench import Bench, bench
from interlock import CallStatus, Gateway, Session
from interlock.admin import Approvals
from interlock.tls import ClientTls
from interlock.v1 import call_pb2, gateway_service_pb2
from interlock_gateway.config import IdentityConfig, ServerConfig, TokenConfig
from interlock_gateway.config_identity import CertificateConfig, MtlsConfig
from interlock_gateway.config_server import TlsConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token

ALICE, MALLORY = "alice", "mallory"
NOBODY, ANONYMOUS = "nobody", "anonymous"
AGENTS_SOCKET, OPERATORS_SOCKET = "agents' socket", "operators' socket"
OUTSIDER = "approver of other groups"
CANARY = "CANARY"
"""Stands in everything that alice says, does, stores and previews; who is not alice reads it nowhere."""
GROUP = "dba"
SOCKET_ROLES = {
    AGENTS_SOCKET: frozenset({Role.AGENT}),
    OPERATORS_SOCKET: frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
}
TOKEN_ROLES = {
    ALICE: frozenset({Role.AGENT}),
    MALLORY: frozenset({Role.AGENT}),
    OUTSIDER: frozenset({Role.APPROVER}),
    **{str(role): frozenset({role}) for role in Role},
}
ROLES_OF: Mapping[str, frozenset[Role]] = {
    **TOKEN_ROLES,
    ANONYMOUS: frozenset({Role.AGENT}),
    NOBODY: frozenset(),
    **SOCKET_ROLES,
}
"""What each caller may do."""


@dataclass(frozen=True)
class Holdings:
    """One of everything that belongs to a session, by kind, and a session that was closed."""

    ids: Mapping[str, str]
    closed: str


@dataclass(frozen=True)
class Caller:
    """Somebody who can be told from others: by a token, a certificate or the socket they open."""

    channel: grpc.aio.Channel
    token: str = ""

    async def asks(self, row: str, named: Mapping[str, str]) -> Refusal:
        """How their request ends that names this."""
        method = method_of(row)
        streaming = method.server_streaming
        request = request_with(method, named)
        return await asked(self.channel, path_of(method), request, token=self.token, streaming=streaming)

    async def calls(self, session_id: str, tool: str, arguments: Mapping[str, str]) -> Refusal:
        """How their call of a tool ends."""
        call = call_pb2.ToolCall(session_id=session_id, tool=tool, input=json.dumps(dict(arguments)).encode())
        request = gateway_service_pb2.CallToolRequest(call=call).SerializeToString()
        return await asked(self.channel, path_of(method_of("GatewayService/CallTool")), request, token=self.token)


@dataclass(frozen=True)
class Scene:
    """The gateway, who calls it, and what two of them have there."""

    at: Bench
    callers: Mapping[str, Caller]
    clients: Mapping[str, Gateway]
    holdings: Mapping[str, Holdings]


@dataclass(frozen=True)
class Door:
    """How callers with credentials come in: what the gateway is configured with, and how each of them connects."""

    identity: IdentityConfig
    server: Mapping[str, Any]
    connect: Callable[[str, str], tuple[grpc.aio.Channel, Gateway]]
    """From the gateway's address and a caller's name to a channel and a client. A token of theirs is in `tokens`."""
    tokens: Mapping[str, str]


def by_tokens(_directory: Path) -> Door:
    """Callers with tokens, over a plain connection."""
    made = {name: new_token() for name in TOKEN_ROLES}
    tokens = {name: token for name, (token, _) in made.items()}

    def connect(address: str, name: str) -> tuple[grpc.aio.Channel, Gateway]:
        return grpc.aio.insecure_channel(address), Gateway(address, token=tokens.get(name))

    configured = tuple(
        TokenConfig(principal=name, sha256=made[name][1], roles=tuple(roles), groups=_groups(name))
        for name, roles in TOKEN_ROLES.items()
    )
    identity = IdentityConfig(tokens=configured, anonymous_agents_on_loopback=True)
    return Door(identity, {}, connect, tokens | {NOBODY: "ilk_" + "0" * 43})


def by_certificates(directory: Path) -> Door:
    """Callers with certificates; who has none is anonymous, and who has one that nobody named is nobody."""
    authority = Authority()
    files = directory / "ours.pem", *authority.leaf(hosts=("127.0.0.1",)).written(directory)
    files[0].write_bytes(authority.pem)

    def connect(address: str, name: str) -> tuple[grpc.aio.Channel, Gateway]:
        cert_file, key_file = None, None
        if name != ANONYMOUS:
            leaf = authority.leaf(_spiffe_id(name))
            cert_file, key_file = leaf.written(directory, _spiffe_id(name).rpartition("/")[2])
        gateway = Gateway(address, tls=ClientTls(files[0], cert_file, key_file))
        return gateway.connection.open_async(), gateway

    known = tuple(
        CertificateConfig(spiffe=_spiffe_id(name), roles=tuple(roles), groups=_groups(name))
        for name, roles in TOKEN_ROLES.items()
    )
    identity = IdentityConfig(mtls=MtlsConfig(principals=known), anonymous_agents_on_loopback=True)
    tls = TlsConfig(cert_file=files[1], key_file=files[2], client_ca_file=files[0], clients="accept")
    server = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), drain_s=5.0, tls=tls)
    return Door(identity, {"server": server}, connect, {})


def _spiffe_id(name: str) -> str:
    return f"spiffe://example.org/{name.replace(' ', '-')}"


def _groups(name: str) -> tuple[str, ...]:
    return {str(Role.APPROVER): (GROUP,), OUTSIDER: ("others",)}.get(name, ())


@asynccontextmanager
async def scene(directory: Path, door: Door) -> AsyncIterator[Scene]:
    """The gateway with everything in place."""
    policy = asking(directory, "wreck", approvers=(GROUP,))
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(bench(directory, identity=door.identity, policy=policy, **door.server))
        address = at.gateway.endpoints.agents[1]
        callers: dict[str, Caller] = {}
        clients: dict[str, Gateway] = {}
        for name in (*TOKEN_ROLES, ANONYMOUS, NOBODY):
            channel, clients[name] = door.connect(address, name)
            await stack.enter_async_context(channel)
            await stack.enter_async_context(clients[name])
            callers[name] = Caller(channel, door.tokens.get(name, ""))
        for name, addresses in (
            (AGENTS_SOCKET, at.gateway.endpoints.agents),
            (OPERATORS_SOCKET, at.gateway.endpoints.operators),
        ):
            callers[name] = Caller(await stack.enter_async_context(grpc.aio.insecure_channel(addresses[0])))
        watch = Approvals(clients[str(Role.APPROVER)]).watch()
        await asyncio.wait_for(anext(watch), PATIENCE_S)
        stack.push_async_callback(watch.aclose)
        holdings = {name: await _hold(clients[name], word) for name, word in ((ALICE, CANARY), (MALLORY, "plain"))}
        yield Scene(at, callers, clients, holdings)


async def _hold(client: Gateway, word: str) -> Holdings:
    """Let an agent have one of everything; `word` stands in all of it."""
    session = await client.open_session(intent=f"{word} intent", labels={"about": f"{word}-label"})
    read = await session.call("echo", {"text": f"{word} line\n" * 4000})
    assert read.artifact is not None
    changed = await session.call("set_value", {"value": f"{word} value"})
    previewed = await session.call("replace_value", {"value": f"{word} other value"})
    assert previewed.pending is not None
    waiting = await session.call("wreck", {"what": f"{word} thing"}, checkpoint_mode="detach")
    assert waiting.status is CallStatus.AWAITING_CHECKPOINT, waiting
    assert waiting.checkpoint is not None
    operation = (await session.operations())[0]
    assert operation.call_id == changed.call_id
    return Holdings(
        ids={
            "session": session.session_id,
            "call": changed.call_id,
            "operation": operation.operation_id,
            "pending action": previewed.pending.pending_id,
            "artifact": read.artifact.uri,
            "checkpoint": waiting.checkpoint.checkpoint_id,
        },
        closed=await _closed(client, word),
    )


async def _closed(client: Gateway, word: str) -> str:
    session: Session = await client.open_session(intent=f"{word} intent")
    await session.call("set_value", {"value": f"{word} value"})
    await session.close()
    return session.session_id
