import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.errors import ArtifactStoreError
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.core.call import CallResult
from interlock_gateway.core.content import Artifact, Audio, Content, Image, Resource, Text
from interlock_gateway.core.decision import NO_OBLIGATIONS, Obligations
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.tool import ResultLimits, TruncationStrategy
from interlock_gateway.results.process import ProcessingReport, ResultProcessor
from interlock_gateway.results.redaction import Redactor
from secret_shapes import SHAPES, canary

REDACTOR = Redactor()
SESSION = "s-1"


class StillClock:
    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0


class FullStore(ArtifactStore):
    """A store whose disk is full."""

    def __init__(self) -> None:
        super().__init__(open_backend("memory:///"), StillClock())

    async def put(self, *_: object) -> Artifact:
        raise ArtifactStoreError("the artifact store is full")


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{tmp_path}/artifacts"), StillClock())


@pytest.fixture
def processor(store: ArtifactStore) -> ResultProcessor:
    return ResultProcessor(REDACTOR, store, text_bytes=1000, part_bytes=5000)


async def process(
    processor: ResultProcessor,
    *content: Content,
    limits: ResultLimits = ResultLimits(),  # noqa: B008 - immutable
    obligations: Obligations = NO_OBLIGATIONS,
    **more: object,
) -> CallResult:
    outcome = ToolOutcome(content=content, **more)  # type: ignore[arg-type] # by name
    return await processor.process(outcome, limits, obligations, SESSION)


def only_text(result: CallResult) -> str:
    (part,) = result.content
    assert isinstance(part, Text)
    return part.text


@pytest.mark.req("RES-1", "PIPE-11")
async def test_a_short_clean_text_is_the_answer_as_it_is(processor: ResultProcessor) -> None:
    part = Text("x" * 1000)
    result = await process(processor, part)
    assert result.content == (part,)
    assert result.content[0] is part
    assert (result.truncated, result.artifact, result.redactions) == (False, None, 0)


@pytest.mark.req("RES-1", "RES-4")
async def test_a_long_text_is_stored_whole_and_returned_short(processor: ResultProcessor, store: ArtifactStore) -> None:
    whole = "".join(f"line {n}\n" for n in range(500))
    result = await process(processor, Text(whole))
    assert result.truncated
    assert result.artifact is not None
    assert await store.read_bytes(result.artifact.uri) == whole.encode()
    assert (result.artifact.total_bytes, result.artifact.total_lines) == (len(whole), 500)
    notice = f'[...truncated, {len(whole)} bytes total — use read_artifact("{result.artifact.uri}") for the rest]'
    assert only_text(result).endswith(notice)
    assert whole.startswith(only_text(result).removesuffix(notice))


@pytest.mark.req("RES-1")
async def test_the_default_limit_is_16_kib(store: ArtifactStore) -> None:
    processor = ResultProcessor(REDACTOR, store)
    assert not (await process(processor, Text("x" * 16_384))).truncated
    assert (await process(processor, Text("x" * 16_385))).truncated


@pytest.mark.req("RES-1")
async def test_the_tightest_of_tool_and_policy_holds(processor: ResultProcessor) -> None:
    text = Text("x" * 900)
    assert not (await process(processor, text)).truncated
    assert (await process(processor, text, limits=ResultLimits(max_bytes=800))).truncated
    looser = Obligations(max_result_bytes=5000)
    assert (await process(processor, text, limits=ResultLimits(max_bytes=800), obligations=looser)).truncated
    tight = await process(processor, text, obligations=Obligations(max_result_bytes=10))
    assert only_text(tight).startswith("xxxxxxxxxx\n[...truncated, 900 bytes")
    nothing = await process(processor, text, obligations=Obligations(max_result_bytes=0))
    assert only_text(nothing).startswith("[...truncated, 900 bytes")


@pytest.mark.req("RES-2")
async def test_the_tool_chooses_how_its_result_is_shortened(processor: ResultProcessor) -> None:
    text = Text(json.dumps([{"a": n} for n in range(1000)]))
    shown = [
        only_text(await process(processor, text, limits=ResultLimits(100, 0, strategy)))
        for strategy in TruncationStrategy
    ]
    assert shown[0].startswith('[{"a": 0}')
    assert "bytes omitted" in shown[1]
    assert shown[2].startswith("1000 rows; columns: a")


@pytest.mark.req("RES-1", "RES-4", "ART-4")
@pytest.mark.parametrize("full", [True, False])
async def test_what_cannot_be_stored_is_said_and_shortened_all_the_same(full: bool) -> None:
    reports: list[ProcessingReport] = []
    store = FullStore() if full else None
    processor = ResultProcessor(REDACTOR, store, text_bytes=100, part_bytes=100, on_processed=reports.append)
    result = await process(
        processor, Text("x" * 5000), Image(b"i" * 5000, "image/png"), data={"d": "y" * 5000}, has_data=True
    )
    why = "the artifact store is full" if full else "no artifact store is configured"
    assert (result.truncated, result.artifact) == (False, None)
    text, image, data = result.content
    assert isinstance(text, Text)
    assert text.text == f"{'x' * 100}\n[...truncated, 5000 bytes total — the rest could not be stored: {why}]"
    assert image == Text(
        f"[image, 5000 bytes of image/png: too large to return, and the rest could not be stored: {why}]"
    )
    assert isinstance(data, Text)
    assert why in data.text
    assert not result.has_data
    assert reports[0].store_failure == why


@pytest.mark.req("RES-1")
async def test_several_texts_are_limited_together(processor: ResultProcessor, store: ArtifactStore) -> None:
    parts = [Text(f"{n}" * 400) for n in range(4)]
    image = Image(b"i", "image/png")
    result = await process(processor, parts[0], image, *parts[1:])
    assert len(result.content) == 2
    assert result.content[1] == image
    assert result.artifact is not None
    stored = await store.read_bytes(result.artifact.uri)
    assert stored.decode() == "\n".join(part.text for part in parts)


@pytest.mark.req("RES-5", "RES-4")
async def test_data_images_and_others_pass_untouched_up_to_their_own_limit(processor: ResultProcessor) -> None:
    parts = (
        Image(b"i" * 5000, "image/png"),
        Audio(b"a" * 5000, "audio/wav"),
        Resource("file:///x", media_type="text/plain", text="t" * 5000),
        Resource("file:///y", blob=b"b" * 5000),
        Resource("https://example.com/link"),
    )
    data: JsonValue = {"k": "v" * 4000}
    result = await process(processor, *parts, data=data, has_data=True)
    assert result.content == parts
    assert result.data is data
    assert result.has_data
    assert not result.truncated


@pytest.mark.req("RES-5", "RES-4")
async def test_larger_ones_become_artifacts(processor: ResultProcessor, store: ArtifactStore) -> None:
    parts = (
        Image(b"i" * 5001, "image/png"),
        Audio(b"a" * 5001, "audio/wav"),
        Resource("file:///x", title="the x", media_type="text/csv", text="t" * 5001),
        Resource("file:///y", blob=b"b" * 5001),
    )
    data: JsonValue = [{"k": "v" * 5000}]
    result = await process(processor, Text("short"), *parts, data=data, has_data=True, details={"d": "e" * 6000})
    assert result.truncated
    assert not result.has_data
    assert result.data is None
    text, *links = result.content
    assert text == Text("short")
    described = []
    for link in links:
        assert isinstance(link, Resource)
        assert link.size_bytes is not None
        described.append((link.title, link.media_type))
        assert len(await store.read_bytes(link.uri)) == link.size_bytes
    assert described == [
        ("image", "image/png"),
        ("audio", "audio/wav"),
        ("the x", "text/csv"),
        ("file:///y", "application/octet-stream"),
        ("structured data", "application/json"),
    ]
    assert isinstance(links[-1], Resource)
    assert json.loads(await store.read_bytes(links[-1].uri)) == data
    assert result.artifact is not None
    assert result.artifact.uri == getattr(links[0], "uri", None)
    assert json.loads(await store.read_bytes(str(result.details["artifact"]))) == {"d": "e" * 6000}


@pytest.mark.req("RES-6", "PIPE-11", "SEC-4")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [0, 200_000])
async def test_no_secret_of_any_shape_is_returned_or_stored(
    shape: str, length: int, processor: ResultProcessor, tmp_path: Path
) -> None:
    made = canary(shape)
    filler = "nothing here\n" * (length // 13)
    data: JsonValue = {"rows": [{"note": made.text, "filler": filler}]}
    raw = json.dumps({"k": made.text}).encode()
    result = await process(
        processor,
        Text(f"{filler}{made.text}\n{filler}", annotations=raw, meta=raw),
        Resource(
            "file:///x", title=made.text, description=made.text, media_type="text/plain", text=made.text, extra=raw
        ),
        Resource("file:///y", media_type="application/json", blob=raw),
        data=data,
        has_data=True,
        details={"log": made.text},
        undo=UndoInfo(tool="t", input={"x": made.text}, description=made.text, manual_guide=made.text),
    )
    assert made.secret not in repr(result)
    assert json.dumps(made.secret)[1:-1] not in repr(result)
    assert result.redactions >= 10
    stored = b"".join(path.read_bytes() for path in (tmp_path / "artifacts").rglob("*") if path.is_file())
    assert made.secret.encode() not in stored
    assert bool(stored) == bool(length)


@pytest.mark.req("RES-6")
async def test_fields_that_policy_names_are_masked_in_data_and_wherever_text_repeats_them(
    processor: ResultProcessor,
) -> None:
    data: JsonValue = {"people": [{"name": "Ann", "ssn": "123-45-6789"}, {"name": "Bob", "ssn": "987-65-4321"}]}
    result = await process(
        processor,
        Text("Ann has 123-45-6789 and Bob 987-65-4321."),
        Text(json.dumps(data)),
        data=data,
        has_data=True,
        obligations=Obligations(redact=("/people/*/ssn",)),
    )
    prose, document = result.content
    assert prose == Text("Ann has [redacted:policy] and Bob [redacted:policy].")
    assert isinstance(document, Text)
    assert json.loads(document.text) == result.data
    assert result.data == {
        "people": [{"name": "Ann", "ssn": "[redacted:policy]"}, {"name": "Bob", "ssn": "[redacted:policy]"}]
    }
    assert result.redactions == 6


@pytest.mark.req("RES-6")
async def test_more_masked_values_than_can_be_looked_for_withhold_the_text(processor: ResultProcessor) -> None:
    data: JsonValue = [f"value-{n}" for n in range(600)]
    result = await process(
        processor, Text("has value-17"), data=data, has_data=True, obligations=Obligations(redact=("",))
    )
    assert result.content == (Text("[redacted:policy]"),)
    assert result.data == "[redacted:policy]"


@pytest.mark.req("RES-6")
async def test_a_pointer_that_is_none_masks_everything(processor: ResultProcessor) -> None:
    result = await process(
        processor,
        Text('{"a": "secret thing"}'),
        Text("a secret thing"),
        data={"a": "secret thing"},
        has_data=True,
        obligations=Obligations(redact=("a",)),
    )
    assert result.data == "[redacted:policy]"
    assert result.content == (Text('"[redacted:policy]"'), Text("a [redacted:policy]"))


async def test_what_passes_through_untouched_really_is(processor: ResultProcessor) -> None:
    raw = b'{ "b" : 1,\n "a" : 2.50 }'
    part = Text("x", annotations=raw, meta=raw)
    assert (await process(processor, part)).content == (part,)


@pytest.mark.req("RES-6")
async def test_annotations_that_hide_behind_escapes_and_are_not_json_are_dropped(processor: ResultProcessor) -> None:
    result = await process(processor, Text("x", annotations=b'{"a": "\\u0067hp_'))
    assert result.content == (Text("x"),)
    assert result.redactions == 1


async def test_a_lone_surrogate_never_reaches_the_answer(processor: ResultProcessor) -> None:
    assert only_text(await process(processor, Text("a\ud800b"))) == "a?b"
    long = await process(processor, Text("\ud800" * 5000))
    assert only_text(long).startswith("???")
    only_text(long).encode()


async def test_an_invalid_session_id_is_a_store_that_fails(store: ArtifactStore) -> None:
    processor = ResultProcessor(REDACTOR, store, text_bytes=10)
    outcome = ToolOutcome(content=(Text("x" * 100),))
    result = await processor.process(outcome, ResultLimits(), NO_OBLIGATIONS, "../../etc")
    assert not result.truncated
    assert "could not be stored" in only_text(result)


@pytest.mark.req("REL-7")
async def test_a_large_result_leaves_the_event_loop_free(processor: ResultProcessor) -> None:
    loop = asyncio.get_running_loop()
    longest = 0.0

    async def ticks() -> AsyncIterator[float]:
        last = loop.time()
        while True:
            await asyncio.sleep(0)
            now = loop.time()
            yield now - last
            last = now

    async def watch() -> None:
        nonlocal longest
        async for gap in ticks():
            longest = max(longest, gap)

    watching = asyncio.create_task(watch())
    rows: JsonValue = [{"n": n, "text": "some words " * 5} for n in range(100_000)]
    result = await process(processor, Text("words and words\n" * 500_000), data=rows, has_data=True)
    watching.cancel()
    assert result.truncated
    assert longest < 1.0


@pytest.mark.req("RES-6", "MCP-3")
async def test_fields_that_policy_names_are_masked_in_what_stands_beside_the_data_too(
    processor: ResultProcessor,
) -> None:
    aside = b'{"of": ["123-45-6789", 12345678, true], "123-45-6789": 1}'
    link = Resource(uri="x://123-45-6789", name="123-45-6789", description="is 123-45-6789", extra=aside)
    result = await process(
        processor,
        Text("x", annotations=aside, meta=aside),
        link,
        data={"ssn": "123-45-6789", "account": 12345678},
        has_data=True,
        details={"mcp": {"result": {"_meta": {"seen": "123-45-6789"}}}},
        undo=UndoInfo(tool="restore", input={"of": "123-45-6789"}, description="put 123-45-6789 back"),
        obligations=Obligations(redact=("/ssn", "/account")),
    )
    assert result.data == {"ssn": "[redacted:policy]", "account": "[redacted:policy]"}
    shown = f"{result.content} {result.details} {result.undo}"
    assert "123-45-6789" not in shown
    assert "12345678" not in shown
    assert shown.count("[redacted:policy]") == 15


@pytest.mark.req("RES-6")
async def test_a_pointer_that_is_none_leaves_nothing_beside_the_data(processor: ResultProcessor) -> None:
    part = Text("x", annotations=b'{"a": 1}', meta=b'{"a": 1}')
    result = await process(processor, part, details={"a": "b"}, obligations=Obligations(redact=("a",)))
    assert (result.content, result.details) == ((Text("x"),), {})


@pytest.mark.req("RES-4", "MCP-3")
async def test_nothing_is_too_large_to_return_because_it_stands_beside_what_is_returned(
    processor: ResultProcessor, store: ArtifactStore
) -> None:
    large = json.dumps({"a": "x" * 6000}).encode()
    parts = (
        Text("short", meta=large),
        Image(b"i", "image/png", annotations=large),
        Resource(uri="x://y", description="y" * 6000),
        Resource(uri="", extra=large),
    )
    result = await process(processor, *parts)
    assert result.content[:2] == (Text("short"), Image(b"i", "image/png"))
    assert sum(len(str(part)) for part in result.content) < 3000
    assert result.artifact is not None
    assert result.truncated
    kept = b"".join([piece async for piece in store.stream_bytes(result.artifact.uri, 0, 100_000)])
    assert json.loads(kept) == {"annotations": None, "_meta": json.loads(large)}
