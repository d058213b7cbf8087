"""What becomes of a tool's result before anyone reads it: redact, limit, store (PIPE-11, RES-1 to RES-6)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from interlock_gateway.artifacts.errors import ArtifactError
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Artifact, Audio, Content, Image, Resource, Text
from interlock_gateway.core.decision import Obligations
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.tool import ResultLimits
from interlock_gateway.results.cleaning import LARGE_BYTES, Cleaned, clean, is_heavy
from interlock_gateway.results.encoding import encode_json
from interlock_gateway.results.redaction import Redactor
from interlock_gateway.results.truncate import TextLimit, WholeText, exceeds, shorten

DEFAULT_TEXT_BYTES = 16 * 1024
DEFAULT_PART_BYTES = 4 * 1024 * 1024
TEXT_TYPE = "text/plain; charset=utf-8"
JSON_TYPE = "application/json"
BINARY_TYPE = "application/octet-stream"
LONGEST_TITLE = 200
_NO_STORE = "no artifact store is configured"


@dataclass(frozen=True, slots=True)
class ProcessingReport:
    """What was done to one result, for the metrics: secrets masked by kind, what was stored, why something was not."""

    redactions: Mapping[str, int]
    artifacts: tuple[Artifact, ...]
    store_failure: str


def _ignore(_report: ProcessingReport) -> None:
    return


class ResultProcessor:
    """Processes results under the gateway's defaults: the largest text, and the largest other part, in bytes."""

    def __init__(
        self,
        redactor: Redactor,
        store: ArtifactStore | None,
        *,
        text_bytes: int = DEFAULT_TEXT_BYTES,
        part_bytes: int = DEFAULT_PART_BYTES,
        on_processed: Callable[[ProcessingReport], None] = _ignore,
    ) -> None:
        self._redactor = redactor
        self._store = store
        self._text_bytes = text_bytes
        self._part_bytes = part_bytes
        self._on_processed = on_processed

    async def process(
        self, outcome: ToolOutcome, limits: ResultLimits, obligations: Obligations, session_id: str
    ) -> CallResult:
        """Redact `outcome`, shorten what is too large, and keep the whole of it for the session.

        Of the result, `call_id` is empty and `status` is COMPLETED; the pipeline knows better. `truncated` and
        `artifact` are set together (RES-4): when something was shortened or left out and its whole is stored. When it
        could not be stored neither is set and the text says so; nothing is raised. `undo` is for showing: what undoes
        the operation is the outcome's own, which the journal keeps.
        """
        text_limit = self._text_limit(limits, obligations)
        if not obligations.redact and self._is_plain(outcome, text_limit):
            return CallResult(
                call_id="",
                status=CallStatus.COMPLETED,
                content=outcome.content,
                is_error=outcome.is_error,
                undo=outcome.undo,
            )
        if is_heavy(outcome):
            cleaned = await asyncio.to_thread(clean, outcome, self._redactor, obligations.redact)
        else:
            cleaned = clean(outcome, self._redactor, obligations.redact)
        work = _Limiting(self._store, session_id, text_limit, self._part_limit(obligations))
        result = await work.run(cleaned)
        self._on_processed(ProcessingReport(cleaned.counts, tuple(work.stored), work.failure))
        return result

    def redact(self, text: str) -> str:
        """A text that is shown beside a result, such as a provider's error message, without its secrets."""
        return self._redactor.redact_text(text).text

    def mask(self, value: JsonValue) -> JsonValue:
        """A JSON value that people are shown, without its secrets."""
        return self._redactor.redact_value(value).value

    def _is_plain(self, outcome: ToolOutcome, limit: TextLimit) -> bool:
        """Whether the result is a short, clean text and nothing else, as most are: then it is the answer as it is."""
        if outcome.has_data or outcome.details or len(outcome.content) != 1 or _speaks(outcome.undo):
            return False
        part = outcome.content[0]
        if not isinstance(part, Text) or part.annotations or part.meta or len(part.text) > limit.max_bytes:
            return False
        try:
            encoded = part.text.encode()
        except UnicodeEncodeError:
            return False
        return not exceeds(encoded, limit) and not self._redactor.may_hold_secret(encoded)

    def _text_limit(self, limits: ResultLimits, obligations: Obligations) -> TextLimit:
        allowed = limits.max_bytes or self._text_bytes
        if obligations.max_result_bytes is not None:
            allowed = min(allowed, obligations.max_result_bytes)
        return TextLimit(max(0, allowed), limits.max_lines, limits.strategy)

    def _part_limit(self, obligations: Obligations) -> int:
        if obligations.max_result_bytes is None:
            return self._part_bytes
        return min(self._part_bytes, max(0, obligations.max_result_bytes))


def _aside(part: Content) -> bytes:
    """What stands beside a part, as one JSON document."""
    return b'{"annotations":%b,"_meta":%b}' % (part.annotations or b"null", part.meta or b"null")


def _speaks(undo: UndoInfo | None) -> bool:
    """Whether there is any text in how an operation would be undone."""
    return undo is not None and bool(undo.tool or undo.input or undo.description or undo.manual_guide)


@dataclass(slots=True)
class _Limiting:
    """The limits of one result, and what had to be stored for it."""

    store: ArtifactStore | None
    session_id: str
    text_limit: TextLimit
    part_limit: int
    stored: list[Artifact] = field(default_factory=list)
    failure: str = ""

    async def run(self, cleaned: Cleaned) -> CallResult:
        outcome = cleaned.outcome
        content = await self._content(outcome.content)
        data, has_data = outcome.data, outcome.has_data
        if has_data and len(cleaned.data_json) > self.part_limit:
            content = (*content, await self._moved(cleaned.data_json, JSON_TYPE, "structured data"))
            data, has_data = None, False
        details = await self._details(outcome.details)
        return CallResult(
            call_id="",
            status=CallStatus.COMPLETED,
            content=content,
            data=data,
            has_data=has_data,
            is_error=outcome.is_error,
            details=details or {},
            undo=outcome.undo,
            truncated=bool(self.stored),
            artifact=self.stored[0] if self.stored else None,
            redactions=sum(cleaned.counts.values()),
        )

    async def _content(self, content: tuple[Content, ...]) -> tuple[Content, ...]:
        text = await self._text([part.text for part in content if isinstance(part, Text)])
        if text is None:
            return tuple([await self._part(part) for part in content])
        parts: list[Content] = []
        for part in content:
            if not isinstance(part, Text):
                parts.append(await self._part(part))
            elif text is not None:
                parts.append(text)
                text = None
        return tuple(parts)

    async def _text(self, texts: list[str]) -> Text | None:
        """One shortened text in place of all, when together they are too large; `None` when they are not."""
        whole = "\n".join(texts).encode("utf-8", "replace")
        if not texts or not exceeds(whole, self.text_limit):
            return None
        where = await self._kept(whole, TEXT_TYPE)
        if len(whole) > LARGE_BYTES:
            return Text(await asyncio.to_thread(shorten, whole, self.text_limit, where))
        return Text(shorten(whole, self.text_limit, where))

    async def _part(self, part: Content) -> Content:
        if len(part.annotations) + len(part.meta) > self.part_limit:
            await self._kept(_aside(part), JSON_TYPE)
            part = replace(part, annotations=b"", meta=b"")
        if isinstance(part, Image | Audio) and len(part.data) > self.part_limit:
            kind = "image" if isinstance(part, Image) else "audio"
            return await self._moved(part.data, part.media_type or BINARY_TYPE, kind)
        if isinstance(part, Resource):
            body = part.blob or (part.text or "").encode("utf-8", "replace")
            if len(body) > self.part_limit:
                media_type = part.media_type or (BINARY_TYPE if part.blob else TEXT_TYPE)
                return await self._moved(body, media_type, (part.title or part.name or part.uri)[:LONGEST_TITLE])
            words = f"{part.uri}\n{part.name}\n{part.title}\n{part.description}".encode("utf-8", "replace")
            if len(words) + len(part.extra) > self.part_limit:
                return await self._moved(words + b"\n" + part.extra, TEXT_TYPE, "what was said of a resource")
        return part

    async def _moved(self, body: bytes, media_type: str, title: str) -> Content:
        where = await self._kept(body, media_type)
        if where.uri:
            return Resource(uri=where.uri, media_type=media_type, title=title, size_bytes=len(body))
        return Text(f"[{title}, {len(body)} bytes of {media_type}: too large to return, and {where.directions}]")

    async def _details(self, details: FrozenJsonObject | None) -> FrozenJsonObject | None:
        if not details:
            return details
        encoded = encode_json(dict(details))
        if len(encoded) <= self.part_limit:
            return details
        where = await self._kept(encoded, JSON_TYPE)
        return {"artifact": where.uri} if where.uri else {"omitted": where.directions}

    async def _kept(self, body: bytes, media_type: str) -> WholeText:
        """Store `body`; where it is, or why it is nowhere."""
        if self.store is None:
            self.failure = _NO_STORE
            return WholeText(failure=self.failure)
        try:
            artifact = await self.store.put(self.session_id, body, media_type)
        except ArtifactError as error:
            self.failure = error.message
            return WholeText(failure=self.failure)
        self.stored.append(artifact)
        return WholeText(uri=artifact.uri)
