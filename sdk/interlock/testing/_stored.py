"""The RPCs of a fake gateway about artifacts and references."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import grpc

from interlock.provider._provider import RequestFailed
from interlock.v1 import artifact_pb2, error_reason_pb2, reference_pb2
from interlock.v1 import gateway_service_pb2 as rpc


@dataclass(slots=True)
class StoredRpcs:
    """The methods about stored results, and the files that references may name."""

    contents: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def store(self, content: bytes) -> str:
        """Keep a result; its URI."""
        uri = f"artifact://fake/{hashlib.sha256(content).hexdigest()}"
        self.contents[uri] = content
        return uri

    def stat_artifact(self, request: rpc.StatArtifactRequest, _patience: float) -> rpc.StatArtifactResponse:
        """What a stored result is."""
        return rpc.StatArtifactResponse(artifact=self._artifact(request.uri))

    def read_artifact(self, request: rpc.ReadArtifactRequest, _patience: float) -> Iterator[rpc.ReadArtifactResponse]:
        """A stored result, or a part of it, in one chunk."""
        artifact, content = self._artifact(request.uri), self.contents[request.uri]
        begin, end = 0, len(content)
        if request.WhichOneof("range") == "bytes":
            begin = min(request.bytes.offset, end)
            end = min(end, begin + request.bytes.length) if request.bytes.length else end
        elif request.WhichOneof("range") == "lines":
            lines = content.splitlines(keepends=True)
            first = max(request.lines.first_line, 1) - 1
            last = first + request.lines.count if request.lines.count else len(lines)
            begin = len(b"".join(lines[:first]))
            end = begin + len(b"".join(lines[first:last]))
        yield rpc.ReadArtifactResponse(
            artifact=artifact, data=content[begin:end], offset=begin, end=end == len(content)
        )

    def search_artifact(
        self, request: rpc.SearchArtifactRequest, _patience: float
    ) -> Iterator[rpc.SearchArtifactResponse]:
        """The lines that match."""
        self._artifact(request.uri)
        lines = self.contents[request.uri].decode("utf-8", "replace").splitlines()
        literal = request.WhichOneof("pattern") == "literal"
        pattern = re.compile(
            re.escape(request.literal) if literal else request.regular_expression,
            re.IGNORECASE if request.ignore_case else 0,
        )
        found = [index for index, line in enumerate(lines) if pattern.search(line)]
        most, around = request.max_matches or 100, request.context_lines
        for index in found[:most]:
            match = artifact_pb2.ArtifactMatch(
                line=index + 1,
                text=lines[index],
                before=lines[max(0, index - around) : index],
                after=lines[index + 1 : index + 1 + around],
            )
            yield rpc.SearchArtifactResponse(match=match)
        summary = artifact_pb2.ArtifactSearchSummary(
            matches=min(most, len(found)), lines_searched=len(lines), more_matches=len(found) > most
        )
        yield rpc.SearchArtifactResponse(summary=summary)

    def resolve_references(
        self, request: rpc.ResolveReferencesRequest, _patience: float
    ) -> rpc.ResolveReferencesResponse:
        """The prompt, the bodies of files and artifacts behind it, and alerts for those not there (REF-1, REF-3)."""
        words: list[str] = []
        bodies: list[str] = []
        answer = rpc.ResolveReferencesResponse()
        for index, segment in enumerate(request.segments):
            if segment.WhichOneof("segment") == "text":
                words.append(segment.text)
                continue
            name, source, body = self._reference(segment)
            if body is None:
                words.append(f"[unresolved file ref: {name}]")
                error = reference_pb2.REFERENCE_ERROR_NOT_FOUND
                answer.alerts.add(segment_index=index, reference=name, error=error, message=f"{name} was not found")
            else:
                words.append(source)
                bodies.append(f"[File: {name}]\n{body}")
        answer.messages.add(role=reference_pb2.MESSAGE_ROLE_USER, text="".join(words))
        for body in bodies:
            answer.messages.add(role=reference_pb2.MESSAGE_ROLE_SYSTEM, text=body)
        return answer

    def _reference(self, segment: reference_pb2.PromptSegment) -> tuple[str, str, str | None]:
        if segment.WhichOneof("segment") == "file":
            path = segment.file.path
            return path, segment.file.source_text or path, self.files.get(path)
        uri = segment.artifact.uri
        content = self.contents.get(uri)
        return uri, segment.artifact.source_text or uri, None if content is None else content.decode()

    def _artifact(self, uri: str) -> artifact_pb2.Artifact:
        content = self.contents.get(uri)
        if content is None:
            raise RequestFailed(
                grpc.StatusCode.NOT_FOUND,
                "there is no such artifact",
                error_reason_pb2.ERROR_REASON_ARTIFACT_NOT_FOUND,
            )
        return artifact_pb2.Artifact(
            uri=uri,
            total_bytes=len(content),
            lines=len(content.splitlines()),
            media_type="text/plain; charset=utf-8",
            sha256=uri.rpartition("/")[2],
        )
