"""The artifact RPCs of `GatewayService` (ART-3): page through, search, describe a stored result."""

from collections.abc import AsyncIterator

from interlock.v1 import artifact_pb2
from interlock.v1 import gateway_service_pb2 as pb

from interlock_gateway.artifacts.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    ArtifactSearchError,
    ArtifactUriError,
)
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.core.session import Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.transport.grpc import encode
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc

CHUNK_BYTES = 256 * 1024
DEFAULT_MATCHES = 100
MAX_MATCHES = 1000
MAX_CONTEXT = 20


class ArtifactRpcs:
    """Reads of artifacts by the principal whose session made them, or by an operator (ART-1)."""

    def __init__(self, artifacts: ArtifactStore, sessions: SessionBook) -> None:
        self._artifacts = artifacts
        self._sessions = sessions

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "ReadArtifact": Rpc(pb.ReadArtifactRequest, pb.ReadArtifactResponse, stream=self.read),
            "SearchArtifact": Rpc(pb.SearchArtifactRequest, pb.SearchArtifactResponse, stream=self.search),
            "StatArtifact": Rpc(pb.StatArtifactRequest, pb.StatArtifactResponse, unary=self.stat),
        }

    async def stat(self, caller: Caller, request: pb.StatArtifactRequest) -> pb.StatArtifactResponse:
        """Describe an artifact."""
        await self._may_read(caller, request.uri)
        try:
            return pb.StatArtifactResponse(artifact=encode.artifact(await self._artifacts.stat(request.uri)))
        except ArtifactError as error:
            raise _mapped(error) from None

    async def read(self, caller: Caller, request: pb.ReadArtifactRequest) -> AsyncIterator[pb.ReadArtifactResponse]:
        """A byte range, a line range, or all of it, in chunks."""
        await self._may_read(caller, request.uri)
        try:
            chunks = self._lines(request) if request.WhichOneof("range") == "lines" else self._bytes(request)
            async for chunk in chunks:
                yield chunk
        except ArtifactError as error:
            raise _mapped(error) from None

    async def search(
        self, caller: Caller, request: pb.SearchArtifactRequest
    ) -> AsyncIterator[pb.SearchArtifactResponse]:
        """Matching lines, then a summary."""
        await self._may_read(caller, request.uri)
        query = SearchQuery(
            pattern=request.regular_expression or request.literal,
            regex=request.WhichOneof("pattern") == "regular_expression",
            ignore_case=request.ignore_case,
            context=min(request.context_lines, MAX_CONTEXT),
            limit=min(request.max_matches or DEFAULT_MATCHES, MAX_MATCHES),
        )
        try:
            found = await self._artifacts.search(request.uri, query)
        except ArtifactError as error:
            raise _mapped(error) from None
        for match in found.matches:
            yield pb.SearchArtifactResponse(
                match=artifact_pb2.ArtifactMatch(
                    line=match.line, offset=match.offset, text=match.text, before=match.before, after=match.after
                )
            )
        yield pb.SearchArtifactResponse(
            summary=artifact_pb2.ArtifactSearchSummary(
                matches=len(found.matches),
                lines_searched=found.lines_searched,
                more_matches=found.more_matches,
                timed_out=found.timed_out,
            )
        )

    async def _bytes(self, request: pb.ReadArtifactRequest) -> AsyncIterator[pb.ReadArtifactResponse]:
        described = await self._artifacts.stat(request.uri)
        offset = min(request.bytes.offset, described.total_bytes)
        yield pb.ReadArtifactResponse(artifact=encode.artifact(described), offset=offset)
        async for data in self._artifacts.stream_bytes(request.uri, offset, request.bytes.length):
            for start in range(0, len(data), CHUNK_BYTES):
                part = data[start : start + CHUNK_BYTES]
                yield pb.ReadArtifactResponse(data=part, offset=offset)
                offset += len(part)
        yield pb.ReadArtifactResponse(offset=offset, end=offset >= described.total_bytes)

    async def _lines(self, request: pb.ReadArtifactRequest) -> AsyncIterator[pb.ReadArtifactResponse]:
        described = await self._artifacts.stat(request.uri)
        page = await self._artifacts.read_lines(request.uri, request.lines.first_line or 1, request.lines.count)
        yield pb.ReadArtifactResponse(artifact=encode.artifact(described), first_line=page.first)
        for start in range(0, len(page.data), CHUNK_BYTES):
            yield pb.ReadArtifactResponse(data=page.data[start : start + CHUNK_BYTES], first_line=page.first)
        yield pb.ReadArtifactResponse(first_line=page.first, end=not page.more and not page.cut)

    async def _may_read(self, caller: Caller, uri: str) -> None:
        try:
            key = parse_uri(uri)
        except ArtifactUriError as error:
            raise _mapped(error) from None
        if not caller.principal.has(Role.OPERATOR):
            await self._sessions.owned(caller.principal, key.session_id)


def _mapped(error: ArtifactError) -> RequestError:
    if isinstance(error, ArtifactUriError):
        return RequestError(RequestFault.INVALID_FIELD, error.message, field="uri")
    if isinstance(error, ArtifactNotFoundError):
        return RequestError(RequestFault.ARTIFACT_NOT_FOUND, error.message, field="uri")
    if isinstance(error, ArtifactSearchError):
        return RequestError(RequestFault.INVALID_PATTERN, error.message, field="regular_expression")
    return RequestError(RequestFault.ARTIFACTS_UNAVAILABLE, error.message)
