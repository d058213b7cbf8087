"""The flows of a session besides its calls: tools, the stack, the journal, artifacts, references."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from interlock._decode import artifact
from interlock._decode_session import (
    artifact_search,
    operation,
    pending_action,
    prompt,
    rollback_line,
    tool,
    tool_match,
)
from interlock._encode import SessionCore, invalid, mode_number, new_id
from interlock._flow import Flow, Items, Method, ask, each, every, pages
from interlock.artifacts import ArtifactPart, ArtifactSearch
from interlock.calls import CheckpointMode
from interlock.journal import Operation, OperationEffect, OperationState, PendingList, RollbackLine
from interlock.references import ArtifactReference, FileReference, Prompt
from interlock.results import Artifact
from interlock.tools import Activation, ToolList, ToolMatch
from interlock.v1 import artifact_pb2, reference_pb2
from interlock.v1 import gateway_service_pb2 as rpc

_SERVICE = "/interlock.v1.GatewayService"

OPEN_SESSION = Method(f"{_SERVICE}/OpenSession", rpc.OpenSessionResponse, repeatable=True, patient=True)
CLOSE_SESSION = Method(f"{_SERVICE}/CloseSession", rpc.CloseSessionResponse, repeatable=True, patient=True)
LIST_TOOLS = Method(f"{_SERVICE}/ListTools", rpc.ListToolsResponse, repeatable=True, patient=True)
SEARCH_TOOLS = Method(f"{_SERVICE}/SearchTools", rpc.SearchToolsResponse, repeatable=True, patient=True)
ACTIVATE_TOOLS = Method(f"{_SERVICE}/ActivateTools", rpc.ActivateToolsResponse, repeatable=True, patient=True)
LIST_PENDING = Method(f"{_SERVICE}/ListPending", rpc.ListPendingResponse, repeatable=True, patient=True)
LIST_OPERATIONS = Method(f"{_SERVICE}/ListOperations", rpc.ListOperationsResponse, repeatable=True, patient=True)
# Rolling back the newest three twice would roll back six. Down to one operation it is the same once and twice.
# Nor is it asked for again after OVERLOADED, which once was said also when the first of them was undone already.
ROLLBACK = Method(f"{_SERVICE}/Rollback", rpc.RollbackResponse, patient=True, not_begun=frozenset({"DRAINING"}))
ROLLBACK_TO = Method(f"{_SERVICE}/Rollback", rpc.RollbackResponse, repeatable=True, patient=True)
# What was settled once is not unknown any more: asked again it is refused, and nothing happens twice.
SETTLE_OPERATION = Method(f"{_SERVICE}/SettleOperation", rpc.SettleOperationResponse, patient=True)
READ_ARTIFACT = Method(f"{_SERVICE}/ReadArtifact", rpc.ReadArtifactResponse, repeatable=True, patient=True)
SEARCH_ARTIFACT = Method(f"{_SERVICE}/SearchArtifact", rpc.SearchArtifactResponse, repeatable=True, patient=True)
STAT_ARTIFACT = Method(f"{_SERVICE}/StatArtifact", rpc.StatArtifactResponse, repeatable=True, patient=True)
RESOLVE_REFERENCES = Method(
    f"{_SERVICE}/ResolveReferences", rpc.ResolveReferencesResponse, repeatable=True, patient=True
)


class SessionOptions(TypedDict, total=False):
    """What a session may be opened with (contract.md, OpenSession); `timeout` is that of the request, in seconds."""

    session_id: str
    intent: str
    labels: Mapping[str, str]
    tools: Iterable[str]
    workspace_roots: Iterable[str]
    always_loaded_tools: Iterable[str]
    deferred_threshold: int
    timeout: float


def open_session(default_timeout: float, options: SessionOptions) -> Flow[str]:
    """Open a session; its id."""
    asked: dict[str, Any] = {"session_id": new_id("session"), **options}
    timeout: float = asked.pop("timeout", default_timeout)
    answer = yield from ask(OPEN_SESSION, rpc.OpenSessionRequest(**asked), timeout)
    return answer.session.session_id or asked["session_id"]


def close(session: SessionCore, *, timeout: float | None = None) -> Flow[int]:
    """Close the session; how many pending actions that discarded."""
    request = rpc.CloseSessionRequest(session_id=session.session_id)
    answer = yield from ask(CLOSE_SESSION, request, timeout or session.timeout)
    return answer.discarded_pending_actions


def tools(session: SessionCore, *, timeout: float | None = None) -> Flow[ToolList]:
    """The tools that the session sees now, safest first, and what the prompt should say about them."""
    request = rpc.ListToolsRequest(session_id=session.session_id)
    answer = yield from ask(LIST_TOOLS, request, timeout or session.timeout)
    return ToolList(
        tools=tuple(tool(one) for one in answer.tools),
        required_tool=answer.tool_choice.required_tool,
        prompt="\n\n".join(block for block in (answer.available_tools_block, answer.guidelines_block) if block),
        deferred=answer.deferred_tools,
    )


def search_tools(
    session: SessionCore, query: str, *, max_results: int = 0, timeout: float | None = None
) -> Flow[tuple[ToolMatch, ...]]:
    """Deferred tools that match, best first; at most `max_results`, 10 when 0."""
    request = rpc.SearchToolsRequest(session_id=session.session_id, query=query, max_results=max_results)
    answer = yield from ask(SEARCH_TOOLS, request, timeout or session.timeout)
    return tuple(tool_match(one) for one in answer.matches)


def activate_tools(session: SessionCore, names: Iterable[str], *, timeout: float | None = None) -> Flow[Activation]:
    """Make deferred tools callable in this session."""
    request = rpc.ActivateToolsRequest(session_id=session.session_id, names=names)
    answer = yield from ask(ACTIVATE_TOOLS, request, timeout or session.timeout)
    return Activation(tuple(tool(one) for one in answer.activated), tuple(answer.unknown))


def pending(session: SessionCore, *, timeout: float | None = None) -> Flow[PendingList]:
    """What waits to be resolved, top first."""
    request = rpc.ListPendingRequest(session_id=session.session_id)
    answers = yield from pages(LIST_PENDING, request, timeout or session.timeout)
    actions = tuple(pending_action(one) for answer in answers for one in answer.pending)
    return PendingList(actions, answers[-1].standing_handler)


def operations(
    session: SessionCore, *, states: Iterable[OperationState] = (), timeout: float | None = None
) -> Flow[tuple[Operation, ...]]:
    """The session's journal, newest first, of operations in these states or of all."""
    names = [f"OPERATION_STATE_{state.name}" for state in states]
    request = rpc.ListOperationsRequest(session_id=session.session_id, states=names)
    answers = yield from pages(LIST_OPERATIONS, request, timeout or session.timeout)
    return tuple(operation(one) for answer in answers for one in answer.operations)


def rollback(
    session: SessionCore,
    *,
    last_operation_id: str = "",
    count: int = 0,
    since_call_id: str = "",
    skip_irreversible: bool = False,
    reason: str = "",
    checkpoint_mode: CheckpointMode | Literal["wait", "detach"] = CheckpointMode.WAIT,
    timeout: float | None = None,
) -> Items[RollbackLine]:
    """Undo operations, newest first, and yield a line for each.

    Exactly one of `last_operation_id` (down to and including it), `count` (so many of the newest) and `since_call_id`
    says how far. When the connection breaks it is asked again and goes on where it was; what had been undone before and
    was not told is then told as `already_undone`. Not so with `count`, of which nobody can tell how much is left.
    """
    targets = {"last_operation_id": last_operation_id, "count": count, "since_call_id": since_call_id}
    given: dict[str, Any] = {name: value for name, value in targets.items() if value}
    if len(given) != 1:
        raise invalid("target", f"give exactly one of {', '.join(targets)}")
    request = rpc.RollbackRequest(
        session_id=session.session_id,
        skip_irreversible=skip_irreversible,
        reason=reason,
        checkpoint_mode=mode_number(checkpoint_mode),
        **given,
    )
    method = ROLLBACK if count else ROLLBACK_TO
    yield from each(method, request, timeout or session.timeout, _untold())


def _untold() -> Callable[[rpc.RollbackResponse], RollbackLine | None]:
    """Reads lines, one of each operation, also when the rollback is asked for again."""
    told: set[str] = set()

    def receive(answer: rpc.RollbackResponse) -> RollbackLine | None:
        line = rollback_line(answer)
        if line.operation.operation_id in told:
            return None
        told.add(line.operation.operation_id)
        return line

    return receive


def settle_operation(
    session: SessionCore,
    operation_id: str,
    effect: OperationEffect | Literal["took_effect", "none"],
    reason: str,
    *,
    timeout: float | None = None,
) -> Flow[Operation]:
    """Say what became of an operation, or of its undo, that is unknown; a rollback then goes on.

    With `none` for an undo, the next rollback undoes the operation again.
    """
    name = f"OPERATION_EFFECT_{OperationEffect(effect).name}"
    request = rpc.SettleOperationRequest(
        session_id=session.session_id, operation_id=operation_id, effect=name, reason=reason
    )
    answer = yield from ask(SETTLE_OPERATION, request, timeout or session.timeout)
    return operation(answer.operation)


def read_artifact(
    session: SessionCore,
    uri: str,
    *,
    offset: int = 0,
    length: int = 0,
    first_line: int = 0,
    lines: int = 0,
    timeout: float | None = None,
) -> Flow[ArtifactPart]:
    """A stored result: the whole, or `length` bytes from `offset`, or `lines` lines from `first_line` (from 1)."""
    request = rpc.ReadArtifactRequest(uri=uri)
    if first_line or lines:
        request.lines.CopyFrom(artifact_pb2.LineRange(first_line=first_line, count=lines))
    elif offset or length:
        request.bytes.CopyFrom(artifact_pb2.ByteRange(offset=offset, length=length))
    chunks = yield from every(READ_ARTIFACT, request, timeout or session.timeout)
    if not chunks:
        return ArtifactPart(artifact=Artifact(uri=uri))
    return ArtifactPart(
        artifact=artifact(chunks[0].artifact),
        data=b"".join(chunk.data for chunk in chunks),
        offset=chunks[0].offset,
        first_line=chunks[0].first_line,
        end=chunks[-1].end,
    )


def search_artifact(
    session: SessionCore,
    uri: str,
    literal: str = "",
    *,
    pattern: str = "",
    ignore_case: bool = False,
    context_lines: int = 0,
    max_matches: int = 0,
    timeout: float | None = None,
) -> Flow[ArtifactSearch]:
    """The lines of a stored text result that hold `literal`, or match the regular expression `pattern`."""
    if bool(literal) == bool(pattern):
        raise invalid("pattern", "give either literal or pattern")
    request = rpc.SearchArtifactRequest(
        uri=uri, ignore_case=ignore_case, context_lines=context_lines, max_matches=max_matches
    )
    if literal:
        request.literal = literal
    else:
        request.regular_expression = pattern
    return artifact_search((yield from every(SEARCH_ARTIFACT, request, timeout or session.timeout)))


def stat_artifact(session: SessionCore, uri: str, *, timeout: float | None = None) -> Flow[Artifact]:
    """What a stored result is, without reading it."""
    answer = yield from ask(STAT_ARTIFACT, rpc.StatArtifactRequest(uri=uri), timeout or session.timeout)
    return artifact(answer.artifact)


def resolve_references(
    session: SessionCore,
    segments: Sequence[str | FileReference | ArtifactReference],
    *,
    timeout: float | None = None,
) -> Flow[Prompt]:
    """Turn the references of a prompt into content; those that cannot be are alerts (REF-3)."""
    request = rpc.ResolveReferencesRequest(session_id=session.session_id, segments=map(_segment, segments))
    return prompt((yield from ask(RESOLVE_REFERENCES, request, timeout or session.timeout)))


def _segment(segment: str | FileReference | ArtifactReference) -> reference_pb2.PromptSegment:
    if isinstance(segment, str):
        return reference_pb2.PromptSegment(text=segment)
    if isinstance(segment, FileReference):
        file = reference_pb2.FileReference(path=segment.path, source_text=segment.source_text)
        return reference_pb2.PromptSegment(file=file)
    stored = reference_pb2.ArtifactReference(uri=segment.uri, source_text=segment.source_text)
    return reference_pb2.PromptSegment(artifact=stored)
