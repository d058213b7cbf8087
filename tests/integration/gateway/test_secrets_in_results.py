"""Secrets in whatever a provider says (RES-6): masked and counted wherever it is shown, stored, logged or recorded."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, bench
from interlock import CallResult
from interlock.calls import Progress
from interlock.provider import DryRunResult, PendingAction, Tool, ToolContext, ToolError, ToolResult, UndoInfo, tool
from interlock_gateway.config import PolicyConfig
from waiting import eventually

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
MARK = "[redacted:github-token]"


def leaking_tools(_: object) -> list[Tool[..., Any]]:  # noqa: C901 - a list of small tools
    """Tools that let a secret slip in every way there is."""

    @tool(read_only=True)
    def leak(context: ToolContext) -> ToolResult:
        """Say it everywhere."""
        context.progress(f"using {SECRET}", 1)
        context.output(f"using {SECRET}\n")
        return ToolResult(
            content=[f"token {SECRET}", f"again {SECRET}"],
            data={"deep": [{"note": SECRET}], SECRET: 1},
            details={"note": SECRET},
        )

    @tool(read_only=True)
    def complain() -> str:
        """Say it in an error."""
        raise ToolError(f"cannot use {SECRET}", details={"note": SECRET})

    @tool(read_only=True, max_result_bytes=100)
    def lots() -> str:
        """Say it in a long result."""
        return f"{SECRET}\n" * 100

    @tool(destructive=False, reversible=True)
    def undone() -> ToolResult:
        """Say it in how to undo."""
        return ToolResult(content="x", undo=UndoInfo(tool="undone", input={"t": SECRET}, manual_guide=f"use {SECRET}"))

    @tool(destructive=False)
    def undone_later() -> str:
        """Say it in how to undo, when asked."""
        return "x"

    @undone_later.undo
    def how() -> UndoInfo:
        return UndoInfo(tool="undone_later", input={"t": SECRET}, description=f"with {SECRET}", irreversible=False)

    @tool(destructive=True)
    def previewed() -> ToolResult:
        """Say it in a preview."""
        return ToolResult(content=f"applied {SECRET}", details={"note": SECRET})

    @previewed.dry_run
    def would() -> DryRunResult:
        return DryRunResult(
            would_affect=[f"file {SECRET}"],
            preview=f"+ {SECRET}",
            estimated_impact={"note": SECRET},
            label=f"replace {SECRET}",
            details={"note": SECRET},
        )

    @tool(destructive=True)
    def unpreviewable() -> str:
        """Fail to preview."""
        return "x"

    @unpreviewable.dry_run
    def would_not() -> DryRunResult:
        raise ToolError(f"cannot look at {SECRET}")

    @tool(destructive=False, reversible=True)
    def pushed() -> ToolResult:
        """Push it."""
        action = PendingAction(label=f"do {SECRET}", token="t", details={"note": SECRET}, source_tool=f"by {SECRET}")
        return ToolResult(content="x", pending_action=action)

    @pushed.apply
    def apply(token: str) -> ToolResult:
        return ToolResult(content=f"did {token} {SECRET}", details={"note": SECRET})

    @pushed.reject
    def reject(token: str) -> ToolResult:
        return ToolResult(content=f"left {token} {SECRET}", details={"note": SECRET})

    return [leak, complain, lots, undone, undone_later, previewed, unpreviewable, pushed]


@pytest.fixture
async def leaky(socket_directory: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Bench]:
    """A gateway before those tools; whatever it wrote is looked through at the end."""
    with caplog.at_level(logging.DEBUG, "interlock_gateway"):
        async with bench(socket_directory, tools=leaking_tools) as at:
            yield at
    written = [
        path for path in (socket_directory / "state").rglob("*") if path.is_file() and "state.db" not in path.name
    ]
    assert len(written) > 3
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]
    assert SECRET not in caplog.text


def clean(result: CallResult) -> None:
    """Nothing in what was answered holds it."""
    assert SECRET not in repr(result)
    assert MARK in repr(result)


@pytest.mark.req("RES-6")
async def test_in_content_data_and_details_it_is_masked_and_counted(leaky: Bench) -> None:
    result = await leaky.agent.session("s").call("leak", {})
    clean(result)
    assert result.text == f"token {MARK}\nagain {MARK}"
    assert result.data == {"deep": [{"note": MARK}], MARK: 1}
    assert result.details == {"note": MARK}
    assert result.redactions == 5


@pytest.mark.req("RES-6")
async def test_in_progress_and_output_on_the_way_it_is_masked(leaky: Bench) -> None:
    events = [event async for event in leaky.agent.session("s").stream("leak", {})]
    assert SECRET not in repr(events)
    assert [event.message for event in events if isinstance(event, Progress)] == [f"using {MARK}"]
    assert len(events) == 3


@pytest.mark.req("RES-6")
async def test_in_a_tools_own_error_it_is_masked(leaky: Bench) -> None:
    result = await leaky.agent.session("s").call("complain", {})
    clean(result)
    assert (result.is_error, result.text) == (True, f"cannot use {MARK}")


@pytest.mark.req("RES-6", "ART-1")
async def test_in_a_stored_result_it_is_masked_before_it_is_stored(leaky: Bench) -> None:
    session = leaky.agent.session("s")
    result = await session.call("lots", {})
    assert result.artifact is not None
    assert (await session.read_artifact(result.artifact.uri)).text == f"{MARK}\n" * 100
    assert (await session.search_artifact(result.artifact.uri, SECRET)).matches == ()
    assert result.redactions == 100


@pytest.mark.req("RES-6")
@pytest.mark.parametrize("name", ["undone", "undone_later"])
async def test_in_how_to_undo_it_is_masked_where_it_is_shown(leaky: Bench, name: str) -> None:
    session = leaky.agent.session("s")
    result = await session.call(name, {})
    assert result.undo is not None
    assert result.undo.input == {"t": MARK}
    clean(result)
    operations = await session.operations()
    assert SECRET not in repr(operations)
    assert MARK in repr(operations)
    kept = await leaky.gateway.rooms.store.journal.list_operations("s", 10)
    assert kept[0].undo is not None
    assert kept[0].undo.input == {"t": SECRET}  # undoing needs it as it is


@pytest.mark.req("RES-6", "PREV-1")
async def test_in_a_preview_and_its_apply_it_is_masked(leaky: Bench) -> None:
    session = leaky.agent.session("s")
    result = await session.call("previewed", {})
    clean(result)
    assert result.preview is not None
    assert result.preview.would_affect == (f"file {MARK}",)
    assert result.preview.preview == f"+ {MARK}"
    assert result.preview.estimated_impact == {"note": MARK}
    assert result.pending is not None
    assert result.pending.label == f"replace {MARK}"
    assert SECRET not in repr(await session.pending())
    clean(await session.resolve("apply", "fine"))


@pytest.mark.req("RES-6", "PREV-1")
async def test_in_a_dry_run_that_fails_it_is_masked(leaky: Bench) -> None:
    result = await leaky.agent.session("s").call("unpreviewable", {})
    assert result.text == f"cannot look at {MARK}"


@pytest.mark.req("RES-6", "PREV-8", "PREV-11")
@pytest.mark.parametrize("action", ["apply", "discard"])
async def test_in_what_a_provider_pushes_and_what_becomes_of_it_it_is_masked(leaky: Bench, action: Any) -> None:
    session = leaky.agent.session("s")
    result = await session.call("pushed", {})
    assert result.pending is not None
    assert (result.pending.label, result.pending.source_tool) == (f"do {MARK}", f"by {MARK}")
    assert SECRET not in repr(await session.pending())
    resolved = await session.resolve(action, "because")
    clean(resolved)
    assert resolved.details["sourceResultDetails"] == {"note": MARK}


@pytest.mark.req("RES-6")
async def test_fields_that_policy_names_are_masked_in_data_and_in_the_text_that_repeats_them(
    socket_directory: Path,
) -> None:
    overlay = socket_directory / "overlay"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "custom" / "hide.rego").write_text(
        "# METADATA\n# title: Salaries are hidden\npackage interlock.custom\n\n"
        'findings contains {"verdict": "none", "rule": "custom/hide", '
        '"obligations": {"redact": ["/people/*/salary"]}}\n'
    )

    @tool(read_only=True)
    def people() -> ToolResult:
        """Tell what they earn."""
        return ToolResult(content="Ada earns 73125", data={"people": [{"name": "Ada", "salary": 73125}]})

    async with bench(socket_directory, tools=lambda _: [people], policy=PolicyConfig(overlays=(overlay,))) as at:
        result = await at.agent.session("s").call("people", {})
        assert result.data == {"people": [{"name": "Ada", "salary": "[redacted:policy]"}]}
        assert result.text == "Ada earns [redacted:policy]"
        assert result.redactions == 2
        await eventually(lambda: at.gateway.rooms.audit.backlog == 0)
