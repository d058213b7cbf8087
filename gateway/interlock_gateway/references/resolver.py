"""Resolves the references of a prompt: reads, masks, cuts, and says of each that it could not why (REF-1 to REF-4)."""

import asyncio
import codecs
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from interlock_gateway.artifacts.errors import ArtifactError, ArtifactNotFoundError, ArtifactUriError
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.core.session import Session
from interlock_gateway.core.visible import visible_line
from interlock_gateway.references.files import Head, read_head
from interlock_gateway.references.prompt import (
    ArtifactSegment,
    FileSegment,
    Outcome,
    Problem,
    Prompt,
    Reference,
    Segment,
    TextSegment,
    UnresolvedError,
    assembled,
    message_of,
)
from interlock_gateway.results.redaction import Redactor

WINDOW_BYTES = 256 * 1024
"""How much of a content is looked at, so that a secret is masked whole before the body is cut in its middle."""
PROMPT_BYTES = 1024 * 1024
"""The most that the bodies of one prompt hold together; a message has to fit into what a gRPC client accepts."""
SIDE_BY_SIDE = 8
"""How many references of one prompt are read at a time."""
_TOO_MUCH = f"the references before it fill the {PROMPT_BYTES} bytes that one prompt may bring in"
_log = logging.getLogger(__name__)


class Observer(Protocol):
    """Counts what becomes of references."""

    def reference_ended(self, kind: str, outcome: str) -> None:
        """One reference to a `kind` was resolved, or has the problem `outcome`."""
        ...


class ReferenceResolver:
    """References of files in the session's roots, and of the session's own artifacts.

    A file is read in one of a few threads, within `timeout_s` seconds, and all of a prompt's within `total_s`: a file
    system that hangs takes these threads, and nothing else. `configured` are the operator's workspace roots.
    """

    def __init__(
        self,
        configured: tuple[str, ...],
        artifacts: ArtifactStore,
        redactor: Redactor,
        observer: Observer,
        *,
        threads: int = 4,
        timeout_s: float = 2.0,
        total_s: float = 10.0,
        read: Callable[[str, tuple[str, ...], tuple[str, ...], int], Head] = read_head,
    ) -> None:
        self._configured = configured
        self._artifacts = artifacts
        self._redactor = redactor
        self._observer = observer
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="references")
        self._timeout_s = timeout_s
        self._total_s = total_s
        self._read = read

    async def resolve(self, session: Session, segments: Sequence[Segment]) -> Prompt:
        """The prompt with what its references hold; nothing is raised for a reference that has no content."""
        until = time.monotonic() + self._total_s
        references = [(index, one) for index, one in enumerate(segments) if not isinstance(one, TextSegment)]
        outcomes: dict[int, Outcome] = {}
        filled = 0
        for start in range(0, len(references), SIDE_BY_SIDE):
            some = references[start : start + SIDE_BY_SIDE]
            found = await asyncio.gather(*(self._outcome(session, one, until, filled) for _, one in some))
            for (index, _), outcome in zip(some, found, strict=True):
                size = len(outcome.encode()) if isinstance(outcome, str) else 0
                fits = filled + size <= PROMPT_BYTES
                filled += size
                outcomes[index] = outcome if fits else UnresolvedError(Problem.IO, _TOO_MUCH)
        self._told(session, references, outcomes)
        return assembled(segments, outcomes)

    def close(self) -> None:
        """Let go of the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _outcome(self, session: Session, reference: Reference, until: float, filled: int) -> Outcome:
        if filled >= PROMPT_BYTES:
            return UnresolvedError(Problem.IO, _TOO_MUCH)
        try:
            async with asyncio.timeout(max(0.0, min(self._timeout_s, until - time.monotonic()))):
                if isinstance(reference, FileSegment):
                    return await self._in_thread(self._file, session, reference)
                head = await self._artifact(session, reference)
                return await self._in_thread(self._message, reference, head)
        except TimeoutError:
            shown = visible_line(reference.reference)
            return UnresolvedError(Problem.IO, f"{shown} could not be read: it takes too long")
        except UnresolvedError as error:
            return error

    async def _in_thread(self, work: "Callable[..., str]", *given: object) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *given)

    def _file(self, session: Session, reference: FileSegment) -> str:
        return self._message(reference, self._read(reference.path, session.roots, self._configured, WINDOW_BYTES))

    async def _artifact(self, session: Session, reference: ArtifactSegment) -> Head:
        shown = visible_line(reference.uri)
        try:
            if parse_uri(reference.uri).session_id != session.session_id:
                raise UnresolvedError(Problem.OUT_OF_SCOPE, f"{shown} belongs to another session")
            total = (await self._artifacts.stat(reference.uri)).total_bytes
            return Head(await self._artifacts.read_bytes(reference.uri, 0, WINDOW_BYTES), total)
        except (ArtifactUriError, ArtifactNotFoundError):
            raise UnresolvedError(Problem.NOT_FOUND, f"there is no artifact {shown}") from None
        except ArtifactError as error:
            raise UnresolvedError(Problem.IO, f"{shown} could not be read: {error.message}") from None

    def _message(self, reference: Reference, head: Head) -> str:
        """The body without secrets, and then cut (RES-6, REF-2)."""
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(head.data, final=not head.more)
        except UnicodeDecodeError:
            shown = visible_line(reference.reference)
            raise UnresolvedError(Problem.NOT_UTF8, f"{shown} is not UTF-8 text") from None
        return message_of(reference, self._redactor.redact_text(text).text, head.total_bytes, more=head.more)

    def _told(self, session: Session, references: list[tuple[int, Reference]], outcomes: dict[int, Outcome]) -> None:
        counts: Counter[str] = Counter()
        for index, reference in references:
            outcome = outcomes[index]
            what = "resolved" if isinstance(outcome, str) else outcome.problem.value
            self._observer.reference_ended(reference.kind, what)
            counts[what] += 1
        if counts:
            _log.info("references resolved", extra={"session_id": session.session_id, "outcomes": dict(counts)})
