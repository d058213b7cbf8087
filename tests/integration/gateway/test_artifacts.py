"""Artifacts (ART-1, ART-3): read and searched by RPC and by the agent's own tools, by those whose they are."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from answering_tools import LINES, Answers, answering
from gateway_bench import Bench, bench
from interlock import CallResult, CallStatus, Gateway
from interlock.errors import InvalidRequestError, NotAuthorizedError, NotFoundError
from interlock_gateway.config import IdentityConfig, TokenConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
async def large(socket_directory: Path, answers: Answers) -> AsyncIterator[Bench]:
    """A gateway before tools that answer with much."""
    async with bench(socket_directory, tools=lambda _: answering(answers)) as at:
        yield at


@pytest.mark.req("ART-3")
async def test_an_artifact_is_read_by_bytes_and_by_lines(large: Bench) -> None:
    session = large.agent.session("s")
    artifact = (await session.call("head", {})).artifact
    assert artifact is not None
    part = await session.read_artifact(artifact.uri, offset=5, length=10)
    assert (part.data, part.offset, part.end) == (LINES.encode()[5:15], 5, False)
    tail = await session.read_artifact(artifact.uri, offset=artifact.total_bytes - 4)
    assert (tail.data, tail.end) == (LINES.encode()[-4:], True)
    beyond = await session.read_artifact(artifact.uri, offset=10**9)
    assert (beyond.data, beyond.end) == (b"", True)
    lines = await session.read_artifact(artifact.uri, first_line=4999, lines=10)
    assert (lines.text, lines.first_line, lines.end) == ("line 4998 é\nline 4999 é\n", 4999, True)
    assert (await session.stat_artifact(artifact.uri)).sha256 == artifact.sha256


@pytest.mark.req("ART-3")
async def test_an_artifact_is_searched_by_text_and_by_pattern_with_context(large: Bench) -> None:
    session = large.agent.session("s")
    artifact = (await session.call("head", {})).artifact
    assert artifact is not None
    found = await session.search_artifact(artifact.uri, "LINE 42 ", ignore_case=True, context_lines=1)
    (match,) = found.matches
    assert (match.line, match.text, match.before, match.after) == (43, "line 42 é", ("line 41 é",), ("line 43 é",))
    some = await session.search_artifact(artifact.uri, pattern=r"^line \d99 ", max_matches=3)
    assert [match.line for match in some.matches] == [200, 300, 400]
    assert some.more_matches
    for pattern in ("(", "a" * 2000, r"(a{999}){999}"):
        with pytest.raises(InvalidRequestError) as bad:
            await session.search_artifact(artifact.uri, pattern=pattern)
        assert bad.value.reason == "INVALID_PATTERN"


@pytest.mark.req("ART-3", "RES-3")
async def test_the_agents_own_tools_read_and_search_it_page_by_page(large: Bench) -> None:
    session = large.agent.session("s")
    artifact = (await session.call("head", {})).artifact
    assert artifact is not None
    read, offset = "", 1
    while True:
        page = await session.call("read_artifact", {"uri": artifact.uri, "offset": offset})
        assert (page.status, page.truncated) == (CallStatus.COMPLETED, False)
        body, _, notice = page.text.partition("\n[Showing lines ")
        if not notice:
            read += body
            break
        read += body + "\n"
        assert notice.startswith(f"{offset}-")
        offset = int(notice.rpartition("offset=")[2].removesuffix(" to continue]"))
    assert read == LINES
    two = await session.call("read_artifact", {"uri": artifact.uri, "offset": 2, "limit": 2})
    assert two.text == "line 1 é\nline 2 é\n[Showing lines 2-3, use offset=4 to continue]"
    found = await session.call("search_artifact", {"uri": artifact.uri, "pattern": "line 7 ", "context": 1})
    assert found.text == "7- line 6 é\n8: line 7 é\n9- line 8 é"
    for broken in ({"pattern": "(", "regex": True}, {"pattern": "x\ny"}):
        refused = await session.call("search_artifact", {"uri": artifact.uri, **broken})
        assert (refused.is_error, refused.status) == (True, CallStatus.COMPLETED)


@pytest.mark.req("ART-3")
async def test_a_line_longer_than_a_page_is_read_by_bytes(large: Bench, answers: Answers) -> None:
    line = "é😀" * 6000
    answers.text = f"short\n{line}\nend\n"
    session = large.agent.session("s")
    artifact = (await session.call("head", {})).artifact
    assert artifact is not None
    page = await session.call("read_artifact", {"uri": artifact.uri, "offset": 2})
    read = ""
    while "\n[Showing bytes " in page.text:
        body, _, notice = page.text.partition("\n[Showing bytes ")
        read += body
        assert notice.startswith(f"{6 + len(read.encode()) - len(body.encode())}-")
        after = int(notice.rpartition("byte_offset=")[2].removesuffix(" to continue]"))
        page = await session.call("read_artifact", {"uri": artifact.uri, "byte_offset": after})
        assert not page.truncated
    assert read + page.text == f"{line}\nend\n"
    some = await session.call("read_artifact", {"uri": artifact.uri, "byte_offset": 0, "byte_limit": 5})
    assert some.text.startswith("short\n[Showing bytes 0-4 of ")
    beyond = await session.call("read_artifact", {"uri": artifact.uri, "byte_offset": 10**9})
    assert beyond.text == f"There is no byte 1000000000: the artifact has {artifact.total_bytes} bytes."
    both = await session.call("read_artifact", {"uri": artifact.uri, "byte_offset": 0, "offset": 1})
    assert both.status is CallStatus.DENIED


def is_missing(result: CallResult) -> bool:
    return result.is_error and "artifact" in result.text and "line 1" not in result.text


@pytest.mark.req("ART-1", "AUTH-2")
async def test_an_artifact_is_its_sessions_and_the_operators_alone(socket_directory: Path, answers: Answers) -> None:
    agent, agent_hash = new_token()
    auditor, auditor_hash = new_token()
    tokens = (
        TokenConfig(principal="other", sha256=agent_hash),
        TokenConfig(principal="auditor", sha256=auditor_hash, roles=(Role.AUDITOR,)),
    )
    async with bench(
        socket_directory, tools=lambda _: answering(answers), identity=IdentityConfig(tokens=tokens)
    ) as at:
        mine = at.agent.session("mine")
        artifact = (await mine.call("head", {})).artifact
        assert artifact is not None
        arguments = {"uri": artifact.uri, "pattern": "line"}
        async with Gateway(at.gateway.endpoints.agents[1], token=agent, plaintext=True) as other:
            theirs = other.session("theirs")
            for reading in (theirs.read_artifact, theirs.stat_artifact, theirs.search_artifact):
                with pytest.raises(NotAuthorizedError):
                    await reading(artifact.uri, *(("x",) if reading == theirs.search_artifact else ()))
            assert is_missing(await theirs.call("read_artifact", {"uri": artifact.uri}))
            assert is_missing(await theirs.call("search_artifact", arguments))
        # The same agent from another session: by RPC, since both are its own; not by the tools of that session.
        second = at.agent.session("second")
        assert is_missing(await second.call("read_artifact", {"uri": artifact.uri}))
        assert (await second.read_artifact(artifact.uri, length=4)).text == "line"
        async with Gateway(at.gateway.endpoints.operators[0]) as operator:
            assert (await operator.session("x").read_artifact(artifact.uri)).text == LINES
        async with Gateway(at.gateway.endpoints.agents[1], token=auditor, plaintext=True) as nobody:
            with pytest.raises(NotAuthorizedError):
                await nobody.session("x").read_artifact(artifact.uri)


@pytest.mark.req("ART-1")
async def test_a_uri_is_no_path_and_a_guess_is_not_found(large: Bench) -> None:
    session = large.agent.session("s")
    await session.call("head", {})
    secret = "/".join([".."] * 8) + "/etc/passwd"
    for uri in (f"artifact://s/{secret}", f"file://{secret}", secret, "artifact://s/" + "A" * 64, "", "artifact://s/"):
        with pytest.raises(InvalidRequestError):
            await session.stat_artifact(uri)
        refused = await session.call("read_artifact", {"uri": uri})
        assert refused.is_error
        assert "root:" not in refused.text
    with pytest.raises(NotFoundError) as guessed:
        await session.stat_artifact(f"artifact://s/{'0' * 64}")
    assert guessed.value.reason == "ARTIFACT_NOT_FOUND"
