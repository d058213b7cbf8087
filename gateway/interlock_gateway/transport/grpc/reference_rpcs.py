"""The RPC of `GatewayService` that turns the references of a prompt into content (REF-1)."""

from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import reference_pb2

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.references.prompt import ArtifactSegment, FileSegment, Problem, Prompt, Segment, TextSegment
from interlock_gateway.references.resolver import ReferenceResolver
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc

MAX_SEGMENTS = 1000
MAX_REFERENCE_BYTES = 4096

ERROR_OF: dict[Problem, reference_pb2.ReferenceError] = {
    Problem.OUT_OF_SCOPE: reference_pb2.REFERENCE_ERROR_OUT_OF_SCOPE,
    Problem.NOT_FOUND: reference_pb2.REFERENCE_ERROR_NOT_FOUND,
    Problem.NOT_UTF8: reference_pb2.REFERENCE_ERROR_NOT_UTF8,
    Problem.IO: reference_pb2.REFERENCE_ERROR_IO,
}


class ReferenceRpcs:
    """References in the scope of a session that is open and the caller's."""

    def __init__(self, resolver: ReferenceResolver, sessions: SessionBook) -> None:
        self._resolver = resolver
        self._sessions = sessions

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "ResolveReferences": Rpc(
                pb.ResolveReferencesRequest, pb.ResolveReferencesResponse, unary=self.resolve_references
            ),
        }

    async def resolve_references(
        self, caller: Caller, request: pb.ResolveReferencesRequest
    ) -> pb.ResolveReferencesResponse:
        """The user's message, a message for each reference, and an alert for each that has no content."""
        segments = _segments(request)
        live = await self._sessions.owned(caller.principal, request.session_id)
        if not live.session.is_open:
            raise RequestError(RequestFault.SESSION_CLOSED, f"session {request.session_id} is closed")
        return _encoded(await self._resolver.resolve(live.session, segments))


def _segments(request: pb.ResolveReferencesRequest) -> list[Segment]:
    if len(request.segments) > MAX_SEGMENTS:
        words = f"there are {len(request.segments)} segments; at most {MAX_SEGMENTS} are taken"
        raise RequestError(RequestFault.INVALID_FIELD, words, field="segments")
    return [_segment(segment, f"segments[{index}]") for index, segment in enumerate(request.segments)]


def _segment(segment: reference_pb2.PromptSegment, field: str) -> Segment:
    match segment.WhichOneof("segment"):
        case "text":
            return TextSegment(segment.text)
        case "file":
            path = _checked(segment.file.path, f"{field}.file.path")
            return FileSegment(path, segment.file.source_text)
        case "artifact":
            uri = _checked(segment.artifact.uri, f"{field}.artifact.uri")
            return ArtifactSegment(uri, segment.artifact.source_text)
        case _:
            raise RequestError(RequestFault.INVALID_FIELD, "the segment is empty", field=field)


def _checked(reference: str, field: str) -> str:
    if not 1 <= len(reference.encode()) <= MAX_REFERENCE_BYTES:
        words = f"{field} has 1 to {MAX_REFERENCE_BYTES} bytes"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=field)
    return reference


def _encoded(prompt: Prompt) -> pb.ResolveReferencesResponse:
    message = reference_pb2.PromptMessage
    return pb.ResolveReferencesResponse(
        messages=[
            message(role=reference_pb2.MESSAGE_ROLE_USER, text=prompt.user),
            *(message(role=reference_pb2.MESSAGE_ROLE_SYSTEM, text=text) for text in prompt.system),
        ],
        alerts=[
            reference_pb2.ReferenceAlert(
                segment_index=alert.index,
                reference=alert.reference,
                error=ERROR_OF[alert.problem],
                message=alert.message,
            )
            for alert in prompt.alerts
        ],
    )
