"""What a session sees of the tools, what its model reads about them, and where its calls may work."""

from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench
from interlock import CallStatus
from interlock.errors import NotAuthorizedError, RequestError
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as rpc
from interlock.v1 import tool_pb2
from interlock_gateway.config import PolicyConfig, ToolOverride
from raw_provider import raw_bench, reading

SURE = "[Safety] requires _flyto_confidence (0-100) in input, min=70"
FINAL = "[Safety] cannot be previewed or undone"
PREVIEWED = tool_pb2.ToolCapability(dry_run=True)
UNDOABLE = tool_pb2.ToolCapability(reversible=True)
CONFIDENT = tool_pb2.ToolCapability(min_confidence=70)


def described(name: str, description: str = "", capability: Any = None, **metadata: Any) -> tool_pb2.ToolDefinition:
    kind = tool_pb2.ToolMetadata(**metadata) if metadata else None
    return tool_pb2.ToolDefinition(name=name, description=description, capability=capability, metadata=kind)


@pytest.mark.req("TOOL-7")
@pytest.mark.parametrize(
    ("definition", "description"),
    [
        (described("plain", "Look.", read_only=True), "Look."),
        (described("sure", "Look.", CONFIDENT, read_only=True), f"Look.\n{SURE}"),
        (described("final", "Go.\n", destructive=True), f"Go.\n\n{FINAL}"),
        (described("silent", destructive=True), FINAL),
        (described("both", "Go.", CONFIDENT, destructive=True), f"Go.\n{SURE}\n{FINAL}"),
        (described("previewed", "Go.", PREVIEWED, destructive=True), "Go."),
        (described("undoable", "Go.", UNDOABLE, destructive=True), "Go."),
        (described("mild", "Go.", destructive=False), "Go."),
        (described("unsaid", "Go."), "Go."),
    ],
)
async def test_a_description_ends_with_what_the_model_must_know(
    socket_directory: Path, definition: Any, description: str
) -> None:
    async with raw_bench(socket_directory, definition) as at:
        (listed,) = (tool for tool in (await at.agent.session("s").tools()).tools if tool.provider == "raw")
        assert listed.description == description


@pytest.mark.req("TOOL-7")
async def test_the_suffix_names_the_configured_field_and_the_operators_minimum(socket_directory: Path) -> None:
    overrides = {"*": ToolOverride(min_confidence=5)}
    async with raw_bench(
        socket_directory, described("look", "Look.", read_only=True), tools=overrides, confidence_field="sure"
    ) as at:
        session = at.agent.session("s")
        (listed,) = (tool for tool in (await session.tools()).tools if tool.provider == "raw")
        assert listed.description == "Look.\n[Safety] requires sure (0-100) in input, min=5"
        assert (await session.call("look", {"sure": 5})).text == "ran"


@pytest.mark.req("TOOL-7")
async def test_safer_tools_are_listed_first_then_by_name(socket_directory: Path) -> None:
    tools = (
        described("b0", read_only=True),
        described("a0", destructive=True),
        described("Z1", "", UNDOABLE, destructive=True),
        described("y1", "", UNDOABLE, destructive=False),
        described("n2", "", PREVIEWED, destructive=True),
        described("m2", "", PREVIEWED, destructive=False),
    )
    async with raw_bench(socket_directory, *tools) as at:
        names = (await at.agent.session("s").tools()).names
        assert names == ("m2", "n2", "Z1", "y1", "a0", "b0", "read_artifact", "search_artifact")


@pytest.mark.req("TOOL-8")
async def test_the_prompt_holds_the_lines_of_visible_tools_once_each(socket_directory: Path) -> None:
    tools = (
        reading("a", prompt_snippet="a: looks", prompt_guidelines=["Look first.", " Look first. ", "Then leap."]),
        reading("b", prompt_snippet="b: looks", prompt_guidelines=["Look first.", ""]),
        reading("c", prompt_snippet="c: is hidden", prompt_guidelines=["Never seen."]),
        reading("e", prompt_snippet="e: looks\n\nGuidelines:\n- Obey e."),
        reading("d"),
    )
    async with raw_bench(socket_directory, *tools) as at:
        session = await at.agent.open_session(tools=["a", "b", "d", "e"])
        async with at.agent.connection.open_async() as channel:
            answer = await rpc.GatewayServiceStub(channel).ListTools(
                pb.ListToolsRequest(session_id=session.session_id), timeout=10
            )
        assert answer.available_tools_block == (
            "Available tools:\n- a: looks\n- b: looks\n- e: looks Guidelines: - Obey e.\n"
            "- read_artifact: page through a result that was too large to return\n"
            "- search_artifact: search a result that was too large to return"
        )
        assert answer.guidelines_block == "Guidelines:\n- Look first.\n- Then leap."


@pytest.mark.req("TOOL-10")
async def test_a_session_with_a_list_of_tools_sees_and_calls_those_alone(at: Bench) -> None:
    session = await at.agent.open_session(tools=["careful", "say", "no_such_tool"])
    listed = await session.tools()
    assert [tool.name for tool in listed.tools if tool.provider == "ledger"] == ["careful", "echo"]
    assert (await session.call("echo", {"text": "a"})).text == "a"
    for hidden in ("set_value", "wreck", "undeclared"):
        denied = await session.call(hidden, {})
        assert (denied.status, denied.decision.reasons[0].code) == (CallStatus.DENIED, "unknown_tool")
        assert denied.text == f"There is no tool named '{hidden}' in this session."
    decision = await session.evaluate("set_value", {"value": "x"})
    assert decision.reasons[0].code == "unknown_tool"
    assert at.ledger.ran == [("echo", "a")]


@pytest.mark.req("TOOL-10")
async def test_a_tool_registered_later_is_not_in_a_session_that_did_not_ask_for_it(socket_directory: Path) -> None:
    async with raw_bench(socket_directory, reading("a")) as at:
        narrow, wide = await at.agent.open_session(tools=["a"]), at.agent.session("wide")
        await at.gateway.rooms.directory.remove("raw")
        at.provider.definitions = [reading("a"), reading("b")]
        at.gateway.rooms.directory.add(at.gateway.config.providers[0], configured=False)
        await at.gateway.providers_settled(5)
        assert (await wide.call("b", {})).text == "ran"
        assert (await narrow.call("b", {})).status is CallStatus.DENIED


@pytest.mark.req("TOOL-10")
async def test_a_session_is_not_opened_a_second_time_in_another_way(at: Bench) -> None:
    terms: dict[str, Any] = {"session_id": "mine", "intent": "tidy up", "labels": {"team": "a"}, "tools": ["echo"]}
    await at.agent.open_session(**terms)
    await at.agent.open_session(**terms)
    others: tuple[dict[str, Any], ...] = (
        {"intent": "tear down"},
        {"labels": {}},
        {"tools": []},
        {"tools": ["echo", "wreck"]},
    )
    for other in others:
        with pytest.raises(RequestError) as refused:
            await at.agent.open_session(**{**terms, **other})
        assert refused.value.reason == "SESSION_EXISTS"
    await at.agent.session("begun").call("wreck", {})
    with pytest.raises(RequestError) as begun:
        await at.agent.open_session(session_id="begun", tools=["echo"])
    assert begun.value.reason == "SESSION_EXISTS"


def workspace(directory: Path) -> Path:
    """A root with a directory in it and links that lead in and out."""
    root = directory / "root"
    (root / "inner").mkdir(parents=True)
    (directory / "outer").mkdir()
    (root / "out").symlink_to(directory / "outer")
    (root / "in").symlink_to(root / "inner")
    return root


@pytest.mark.req("TOOL-9")
async def test_a_workdir_inside_the_roots_is_handed_to_the_tool(socket_directory: Path) -> None:
    root = workspace(socket_directory)
    tool = described("look", "Look.", read_only=True, knows_workdir=True)
    async with raw_bench(socket_directory, tool, workspace_roots=(str(root),)) as at:
        session = at.agent.session("s")
        for workdir in ("", str(root), f"{root}/inner", f"{root}/in"):
            assert (await session.call("look", {}, workdir=workdir)).text == "ran"
        assert [seen.workdir for seen in at.provider.ran] == ["", str(root), f"{root}/inner", f"{root}/in"]


@pytest.mark.req("TOOL-9")
async def test_a_workdir_outside_the_roots_is_refused(socket_directory: Path) -> None:
    root = workspace(socket_directory)
    async with raw_bench(socket_directory, reading("look"), workspace_roots=(str(root),)) as at:
        session = at.agent.session("s")
        outside = (
            "/",
            f"{root}/..",
            f"{root}/out",
            f"{root}er",
            f"{root}/inner/../../outer",
            "root",
            "~",
            "file:/root",
        )
        for workdir in (*outside, f"{root}\n", f"{root}/\0", "/" + "a" * 4000):
            denied = await session.call("look", {}, workdir=workdir)
            assert (denied.status, denied.decision.reasons[0].code) == (CallStatus.DENIED, "outside_workspace"), workdir
        narrow = await at.agent.open_session(workspace_roots=[f"{root}/inner"])
        assert (await narrow.call("look", {}, workdir=f"{root}/inner")).text == "ran"
        assert (await narrow.call("look", {}, workdir=str(root))).status is CallStatus.DENIED
        with pytest.raises(NotAuthorizedError) as wider:
            await at.agent.open_session(workspace_roots=["/"])
        assert wider.value.reason == "WORKSPACE_ROOT_NOT_ALLOWED"
        assert len(at.provider.ran) == 1


@pytest.mark.req("TOOL-9")
async def test_without_roots_there_is_no_workdir_to_ask_for(at: Bench) -> None:
    denied = await at.agent.session("s").call("echo", {"text": "x"}, workdir="/tmp")
    assert denied.text == "the session has no workspace roots, so no working directory lies inside one"


@pytest.mark.req("TOOL-9")
async def test_the_workdir_is_part_of_the_digest_and_of_what_policy_sees(socket_directory: Path) -> None:
    root = workspace(socket_directory)
    overlay = socket_directory / "overlay"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "custom" / "inner.rego").write_text(
        "# METADATA\n# title: Nobody works in the inner directory\npackage interlock.custom\n\n"
        'findings contains {"verdict": "deny", "code": "inner", "message": input.call.workdir, "rule": "custom/inner"} '
        'if {\n\tendswith(input.call.workdir, "/inner")\n}\n'
    )
    policy = PolicyConfig(overlays=(overlay,))
    async with raw_bench(socket_directory, reading("look"), workspace_roots=(str(root),), policy=policy) as at:
        session: Any = at.agent.session("s")
        digests = [(await session.evaluate("look", {}, workdir=where)).call_digest for where in ("", str(root))]
        assert digests[0] != digests[1]
        assert (await session.call("look", {}, workdir=f"{root}/inner")).text == f"{root}/inner"
