"""`access.yaml`, played: every RPC by every caller, about what is theirs, another's, and nobody's.

Each function gives a sentence for whatever is not as the table has it.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import grpc
from access_table import ROWS, Refusal, Row, method_of, methods, row_of
from google.protobuf import json_format, message_factory
from interlock.admin import Approvals
from interlock.v1 import approval_service_pb2
from interlock_gateway.core.session import Role
from isolation_scene import (
    AGENTS_SOCKET,
    ALICE,
    ANONYMOUS,
    CANARY,
    MALLORY,
    NOBODY,
    OUTSIDER,
    ROLES_OF,
    Caller,
    Scene,
)
from waiting import eventually

Code = grpc.StatusCode
CLOSED = approval_service_pb2.CHECKPOINT_EVENT_CLOSED
AT_AGENTS_SOCKET = {"GatewayService", "ProviderHubService", "Health", "ServerReflection"}
REFUSED = {Code.UNAUTHENTICATED, Code.PERMISSION_DENIED, Code.UNIMPLEMENTED}
OF_THE_MOMENT = {
    "decisionId",
    "callId",
    "durations",
    "duration",
    "openedAt",
    "createdAt",
    "decidedAt",
    "expiresAt",
    "callDigest",
    "pendingId",
    "generatedAt",
}
"""What two answers to the same question differ in."""
ONLY_SESSIONS = {"session", "artifact"}
DIGEST = "0" * 64


async def roles(scene: Scene) -> AsyncIterator[str]:
    """Each RPC is for its roles, and for no other caller; what is not served is served to nobody."""
    for method in methods():
        row = ROWS[row_of(method)]
        for name, caller in scene.callers.items():
            for named in variants(row, {kind: invented(kind) for kind in row.names.values()}):
                ended = await caller.asks(row_of(method), named)
                if (said := found(ended)) not in (wanted := expected(name, method.containing_service.name, row)):
                    yield f"{name} asks {row_of(method)} and hears {said} {ended.message}, not {wanted}"


def expected(name: str, service: str, row: Row) -> set[str]:
    """What a caller hears who names nothing that there is."""
    if not row.is_served or (name == AGENTS_SOCKET and service not in AT_AGENTS_SOCKET):
        return {"UNIMPLEMENTED"}
    if row.anybody or ROLES_OF[name] & row.roles:
        return {"served"}
    return {"UNAUTHENTICATED" if name == NOBODY else "ROLE_REQUIRED"}


def found(ended: Refusal) -> str:
    if ended.code in REFUSED:
        return ended.reason or ended.code.name
    return ended.code.name if ended.code is Code.INTERNAL else "served"


async def foreign(scene: Scene) -> AsyncIterator[str]:
    """Who names another's session is refused, in the same words whatever else they name: there or not, open or not."""
    hers = scene.holdings[ALICE]
    for name, caller in intruders(scene):
        for row_name, row in about_sessions():
            theirs = {kind: invented(kind, hers.ids["session"]) for kind in row.names.values()}
            theirs["session"] = hers.ids["session"]
            closed = {**theirs, "session": hers.closed, "artifact": invented("artifact", hers.closed)}
            asked = [*variants(row, hers.ids), *variants(row, theirs), *variants(row, closed)]
            heard = {}
            for named in asked:
                ended = await caller.asks(row_name, named)
                heard[told(row_name, ended, named)] = named
                if ended.reason != "NOT_YOUR_SESSION":
                    yield f"{name} asks {row_name} about {named} and hears {ended.code} {ended.reason}"
                if leaks(ended, hers.ids, named):
                    yield f"{name} asks {row_name} about {named} and reads what is another's"
            if len(heard) > 1:
                yield f"{name} can tell what there is by {row_name}: {heard}"


async def unheard_of(scene: Scene) -> AsyncIterator[str]:
    """Who names a session that nobody has hears what the table says; an id of something else is none of a session."""
    of_other_kinds = [value for kind, value in scene.holdings[ALICE].ids.items() if kind not in ONLY_SESSIONS]
    for name, caller in intruders(scene):
        for row_name, row in about_sessions():
            # What opens a session may open one by any name.
            for session in [invented("session"), *(of_other_kinds if row.unknown != "OK" else ())]:
                values = {kind: invented(kind, session) for kind in row.names.values()} | {"session": session}
                for named in variants(row, values):
                    ended = await caller.asks(row_name, named)
                    if (said := "OK" if ended.code is Code.OK else ended.reason) != row.unknown:
                        yield f"{name} asks {row_name} about {named} and hears {said}, not {row.unknown}"


async def crossed(scene: Scene) -> AsyncIterator[str]:
    """In a session of one's own, what is another's is as absent as what nobody has, and so is an id of another kind."""
    hers, own = scene.holdings[ALICE].ids, scene.holdings[MALLORY].ids
    for row_name, field in absent_fields():
        row = ROWS[row_name]
        heard = {}
        for value in absent_values(row.names[field], hers, own, makes_one=row.absent[field] == "OK"):
            session = invented("session") if row.unknown == row.absent[field] == "OK" else own["session"]
            named = {other: session for other, kind in row.names.items() if kind == "session"} | {field: value}
            ended = await scene.callers[MALLORY].asks(row_name, named)
            heard[told(row_name, ended, named)] = value
            if (said := "OK" if ended.code is Code.OK else ended.reason) != row.absent[field]:
                yield f"{row_name} with {field} = {value} ends with {said} {ended.message}"
            if leaks(ended, hers, named):
                yield f"{row_name} with {field} = {value} shows what is another's"
        if len(heard) > 1:
            yield f"{row_name} tells by {field} what others have: {heard}"


def absent_fields() -> list[tuple[str, str]]:
    """The fields that name what is inside a session, those first that only look."""
    fields = [(name, field) for name, row in about_sessions() for field in row.absent]
    return sorted(fields, key=lambda one: ROWS[one[0]].absent[one[1]] == "OK")


def absent_values(kind: str, hers: Mapping[str, str], own: Mapping[str, str], *, makes_one: bool) -> Iterator[str]:
    """What is not in one's own session: nobody's, another's, and one's own of another kind unless that makes one."""
    if kind == "artifact":
        yield invented("artifact", own["session"])
        yield f"artifact://{own['session']}/{hers['artifact'].rpartition('/')[2]}"
        return
    yield invented(kind)
    yield hers[kind]
    if not makes_one:
        yield from (value for other, value in own.items() if other not in {kind, *ONLY_SESSIONS})


async def by_tools(scene: Scene) -> AsyncIterator[str]:
    """The gateway's own tools take the names of things as arguments, and give out no more than the RPCs do."""
    hers, own = scene.holdings[ALICE].ids, scene.holdings[MALLORY].ids
    for tool, argument, kind, more in (
        ("read_artifact", "uri", "artifact", {}),
        ("search_artifact", "uri", "artifact", {"pattern": "line"}),
        ("resolve", "pending_id", "pending action", {"action": "discard", "reason": "not wanted"}),
    ):
        heard = {}
        for value in (hers[kind], invented(kind, hers["session"])):
            ended = await scene.callers[MALLORY].calls(own["session"], tool, {**more, argument: value})
            heard[told("GatewayService/CallTool", ended, {argument: value})] = value
            if leaks(ended, hers, {argument: value}):
                yield f"{tool} shows what is another's"
        if len(heard) > 1:
            yield f"{tool} tells what others have: {heard}"


async def mixed(scene: Scene) -> AsyncIterator[str]:
    """One call of another's session among one's own, and nothing of the batch is begun."""
    before = list(scene.at.ledger.ran)
    ended = await scene.callers[MALLORY].asks(
        "GatewayService/CallBatch",
        {
            "session_id": scene.holdings[MALLORY].ids["session"],
            "calls[].session_id": scene.holdings[ALICE].ids["session"],
        },
    )
    if ended.code is Code.OK or ended.answers or scene.at.ledger.ran != before:
        yield f"a batch with another's call in it ended with {ended.code} {ended.message}"


async def people(scene: Scene) -> AsyncIterator[str]:
    """An approver of other groups is shown nothing of a checkpoint, and is told whose it is, as the contract has it."""
    outsider, hers = scene.callers[OUTSIDER], scene.holdings[ALICE].ids
    for row_name in ("ApprovalService/GetCheckpoint", "ApprovalService/DecideCheckpoint"):
        for value, wanted in (
            (hers["checkpoint"], "APPROVER_GROUP_REQUIRED"),
            (invented("checkpoint"), "CHECKPOINT_NOT_FOUND"),
            *((value, "CHECKPOINT_NOT_FOUND") for kind, value in hers.items() if kind != "checkpoint"),
        ):
            ended = await outsider.asks(row_name, {"checkpoint_id": value})
            if ended.reason != wanted:
                yield f"{row_name} about {value} ends with {ended.reason}, not {wanted}"
            if leaks(ended, hers, {"checkpoint_id": value}):
                yield f"{row_name} shows an approver of other groups what is asked"
    for row_name, named in (
        ("ApprovalService/ListCheckpoints", {}),
        ("ApprovalService/ListCheckpoints", {"session_id": hers["session"]}),
    ):
        ended = await outsider.asks(row_name, named)
        if leaks(ended, hers, named) or any(ended.answers):
            yield f"{row_name} shows an approver of other groups what is asked"


async def watching(scene: Scene) -> AsyncIterator[str]:
    """Who watches is told of what is opened and closed for their groups, and of nothing else."""
    told: dict[str, list[approval_service_pb2.WatchCheckpointsResponse]] = {OUTSIDER: [], str(Role.APPROVER): []}
    session = scene.clients[ALICE].session(scene.holdings[ALICE].ids["session"])

    async def watch(name: str) -> None:
        async for event in Approvals(scene.clients[name]).watch():
            told[name].append(event)

    def closed() -> bool:
        return any(event.event == CLOSED for event in told[str(Role.APPROVER)])

    tasks = [asyncio.create_task(watch(name)) for name in told]
    try:
        await eventually(lambda: all(told.values()))
        asked = await session.call("wreck", {"what": f"{CANARY} again"}, checkpoint_mode="detach")
        assert asked.checkpoint is not None
        await Approvals(scene.clients[str(Role.APPROVER)]).deny(asked.checkpoint.checkpoint_id, "not that")
        await eventually(closed)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if any(event.HasField("checkpoint") for event in told[OUTSIDER]):
        yield "an approver of other groups is told of what is asked"


async def owners(scene: Scene) -> AsyncIterator[str]:
    """Who it belongs to is served, last of all with its end."""
    hers = scene.holdings[ALICE].ids
    rows = sorted(about_sessions(), key=lambda one: one[0] == "GatewayService/CloseSession")
    for row_name, row in rows:
        for named in variants(row, hers):
            ended = await scene.callers[ALICE].asks(row_name, named)
            if found(ended) != "served" or ended.code is Code.NOT_FOUND:
                yield f"alice asks {row_name} about {named} and hears {ended.code} {ended.message}"
    for name, row_name, named in (
        (str(Role.OPERATOR), "GatewayService/ReadArtifact", {"uri": hers["artifact"]}),
        (str(Role.AUDITOR), "AdminService/GetSessionReport", {"session_id": hers["session"]}),
        (str(Role.APPROVER), "ApprovalService/GetCheckpoint", {"checkpoint_id": hers["checkpoint"]}),
    ):
        ended = await scene.callers[name].asks(row_name, named)
        if ended.code is not Code.OK:
            yield f"{name} asks {row_name} and hears {ended.code} {ended.message}"


async def kept(scene: Scene) -> dict[str, str]:
    """What alice has, as she and those who may look at all of it see it."""
    hers, report = scene.holdings[ALICE], "AdminService/GetSessionReport"
    asked = [
        *(
            (ALICE, f"GatewayService/{name}", {"session_id": hers.ids["session"]})
            for name in ("ListOperations", "ListPending")
        ),
        (ALICE, "GatewayService/GetCall", {"session_id": hers.ids["session"], "call_id": hers.ids["call"]}),
        (str(Role.APPROVER), "ApprovalService/GetCheckpoint", {"checkpoint_id": hers.ids["checkpoint"]}),
        *((str(Role.AUDITOR), report, {"session_id": session}) for session in (hers.ids["session"], hers.closed)),
    ]
    found = {}
    for name, row_name, named in asked:
        ended = await scene.callers[name].asks(row_name, named)
        assert ended.code is Code.OK, (row_name, ended.message)
        found[f"{row_name} {named}"] = told(row_name, ended, named)
    return found | {"ledger": repr([one for one in scene.at.ledger.ran if CANARY in repr(one)])}


def intruders(scene: Scene) -> Iterator[tuple[str, Caller]]:
    """Agents besides alice."""
    return ((name, scene.callers[name]) for name in (MALLORY, ANONYMOUS, AGENTS_SOCKET) if name in scene.callers)


def about_sessions() -> Iterator[tuple[str, Row]]:
    """The RPCs of agents that name something."""
    return ((name, row) for name, row in ROWS.items() if Role.AGENT in row.roles and row.names)


def variants(row: Row, values: Mapping[str, str]) -> list[dict[str, str]]:
    """The fields of a request: its session, and one at a time what else it names."""
    sessions = {field: values[kind] for field, kind in row.names.items() if kind == "session"}
    others = [{**sessions, field: values[kind]} for field, kind in row.names.items() if kind != "session"]
    return others or [sessions]


def invented(kind: str, session: str = "") -> str:
    """A name of that kind which nothing has."""
    if kind == "artifact":
        return f"artifact://{session or uuid.uuid4()}/{DIGEST}"
    return str(uuid.uuid4())


def told(row_name: str, ended: Refusal, named: Mapping[str, str]) -> str:
    """All that an answer says, without what its question said and what two answers always differ in."""
    response = message_factory.GetMessageClass(method_of(row_name).output_type)
    answers = [_steady(json_format.MessageToDict(response.FromString(one))) for one in ended.answers]
    metadata = dict(ended.info.metadata)
    text = json.dumps([ended.code.name, ended.reason, ended.message, metadata, answers], sort_keys=True)
    for value in sorted(named.values(), key=len, reverse=True):
        text = text.replace(value, "<named>")
    return text


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _steady(one) for key, one in value.items() if key not in OF_THE_MOMENT}
    return [_steady(one) for one in value] if isinstance(value, list) else value


def leaks(ended: Refusal, hers: Mapping[str, str], named: Mapping[str, str]) -> bool:
    """Whether an answer holds something of alice's that the question did not name."""
    sent = " ".join(named.values())
    text = b"".join(ended.answers) + ended.message.encode() + ended.info.SerializeToString()
    secrets = [CANARY, *(value for value in hers.values() if value not in sent)]
    return any(secret.encode() in text for secret in secrets)
