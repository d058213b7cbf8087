"""References of a prompt, over sockets (REF-1 to REF-4)."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio
import pytest
from answering_tools import LINES, Answers, answering
from gateway_bench import Bench, bench
from interlock import Gateway
from interlock.errors import InvalidRequestError, NotAuthorizedError, NotFoundError, RequestError
from interlock.references import ArtifactReference, FileReference, PromptMessage, ReferenceProblem
from interlock.v1.gateway_service_pb2 import ResolveReferencesRequest, ResolveReferencesResponse
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.identity.authenticate import new_token
from scraping import scraped

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def work(socket_directory: Path) -> Path:
    made = socket_directory / "work"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    (made / "large.txt").write_text("é" * 10_000)
    (made / "binary").write_bytes(b"\xff\xfe")
    (made / "key.txt").write_text(f"token: {SECRET}\n")
    (made / "out").symlink_to("/etc/passwd")
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture
async def at(socket_directory: Path, work: Path) -> AsyncIterator[Bench]:
    async with bench(socket_directory, tools=lambda _: answering(Answers()), workspace_roots=(str(work),)) as made:
        yield made


@pytest.mark.req("REF-1", "REF-2", "REF-3", "REF-4")
async def test_a_prompt_comes_back_with_content_and_with_a_warning_for_each_reference_without(
    at: Bench, work: Path
) -> None:
    session = await at.agent.open_session(session_id="s")
    files = ["a.txt", "../a.txt", "nothing", "binary", "pipe", "out", f"{work}/large.txt"]
    prompt = await session.resolve_references(
        ["Compare ", FileReference("a.txt", "@a.txt"), " with", *map(FileReference, files[1:])]
    )

    user, first, large = prompt.messages
    refused = "".join(f"[unresolved file ref: {name}]" for name in files[1:6])
    assert user == PromptMessage("user", f"Compare @a.txt with{refused}{work}/large.txt")
    assert first == PromptMessage("system", "[File: a.txt]\none\n")
    notice = "\n[...truncated, 20000 bytes total — use read_file for the rest]"
    assert large == PromptMessage("system", f"[File: {work}/large.txt]\n{'é' * 8192}{notice}")
    assert [(one.segment_index, one.reference, one.problem) for one in prompt.alerts] == [
        (3, "../a.txt", ReferenceProblem.OUT_OF_SCOPE),
        (4, "nothing", ReferenceProblem.NOT_FOUND),
        (5, "binary", ReferenceProblem.NOT_UTF8),
        (6, "pipe", ReferenceProblem.IO),
        (7, "out", ReferenceProblem.OUT_OF_SCOPE),
    ]
    assert all(one.message for one in prompt.alerts)
    metrics = await scraped(at)
    assert 'interlock_references_total{kind="file",outcome="out_of_scope"} 2.0' in metrics
    assert 'interlock_references_total{kind="file",outcome="resolved"} 2.0' in metrics


@pytest.mark.req("RES-6", "REF-1")
async def test_secrets_in_files_are_masked(at: Bench) -> None:
    session = await at.agent.open_session(session_id="s")

    _, message = (await session.resolve_references([FileReference("key.txt")])).messages

    assert SECRET not in message.text
    assert "[redacted:" in message.text


@pytest.mark.req("REF-1", "REF-2", "ART-1")
async def test_an_artifact_is_brought_in_by_the_session_that_made_it_alone(at: Bench) -> None:
    mine, other = at.agent.session("mine"), await at.agent.open_session(session_id="other")
    artifact = (await mine.call("head", {})).artifact
    assert artifact is not None

    user, message = (await mine.resolve_references([ArtifactReference(artifact.uri, "@result")])).messages

    assert user.text == "@result"
    assert message.text.startswith(f"[Artifact: {artifact.uri}]\n{LINES[:1000]}")
    words = f'[...truncated, {artifact.total_bytes} bytes total — use read_artifact("{artifact.uri}") for the rest]'
    assert message.text.endswith(words)
    refused = await other.resolve_references([ArtifactReference(artifact.uri)])
    assert [one.problem for one in refused.alerts] == [ReferenceProblem.OUT_OF_SCOPE]
    assert refused.messages == (PromptMessage("user", f"[unresolved artifact ref: {artifact.uri}]"),)


@pytest.mark.req("REF-4", "AUTH-2")
async def test_the_scope_is_a_session_that_is_open_and_the_callers(socket_directory: Path, work: Path) -> None:
    token, digest = new_token()
    identity = IdentityConfig(tokens=(TokenConfig(principal="other", sha256=digest),))
    async with bench(socket_directory, workspace_roots=(str(work),), identity=identity) as at:
        reference = [FileReference("a.txt")]
        with pytest.raises(NotFoundError):
            await at.agent.session("nobody").resolve_references(reference)
        session = await at.agent.open_session(session_id="mine")
        async with Gateway(at.gateway.endpoints.agents[1], token=token, plaintext=True) as other:
            with pytest.raises(NotAuthorizedError):
                await other.session("mine").resolve_references(reference)
        await session.close()
        with pytest.raises(RequestError) as closed:
            await session.resolve_references(reference)
        assert closed.value.reason == "SESSION_CLOSED"


@pytest.mark.req("REF-4")
async def test_a_session_with_narrower_roots_or_none_sees_no_more(socket_directory: Path, work: Path) -> None:
    (work / "inner").mkdir()
    (work / "inner/b.txt").write_text("two\n")
    async with bench(socket_directory, workspace_roots=(str(work),)) as at:
        narrow = await at.agent.open_session(session_id="narrow", workspace_roots=[str(work / "inner")])
        prompt = await narrow.resolve_references([FileReference("b.txt"), FileReference(f"{work}/a.txt")])
        assert [one.text for one in prompt.messages[1:]] == ["[File: b.txt]\ntwo\n"]
        assert [one.problem for one in prompt.alerts] == [ReferenceProblem.OUT_OF_SCOPE]
    async with bench(socket_directory, workspace_roots=()) as at:
        nowhere = await at.agent.open_session(session_id="nowhere")
        prompt = await nowhere.resolve_references([FileReference(f"{work}/a.txt")])
        assert [one.problem for one in prompt.alerts] == [ReferenceProblem.OUT_OF_SCOPE]


@pytest.mark.req("REF-1")
async def test_a_request_that_is_none_is_refused_and_the_largest_one_is_answered(at: Bench) -> None:
    session = await at.agent.open_session(session_id="s")

    for broken in (["x"] * 1001, [FileReference("")], [FileReference("a" * 4097)], [ArtifactReference("")]):
        with pytest.raises(InvalidRequestError):
            await session.resolve_references(broken)
    prompt = await session.resolve_references([FileReference("large.txt")] * 1000)
    assert len(prompt.messages) - 1 + len(prompt.alerts) == 1000
    nothing = await session.resolve_references([])
    assert nothing.messages == (PromptMessage("user", ""),)


@pytest.mark.req("REF-1")
async def test_a_segment_without_anything_is_refused(at: Bench) -> None:
    await at.agent.open_session(session_id="s")
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        ask = channel.unary_unary(
            "/interlock.v1.GatewayService/ResolveReferences",
            request_serializer=ResolveReferencesRequest.SerializeToString,
            response_deserializer=ResolveReferencesResponse.FromString,
        )
        request = ResolveReferencesRequest(session_id="s", segments=[{}])
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(request)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
