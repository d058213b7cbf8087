"""What policy has changed in an input stays what it decided about: no rule was asked about another path (POL-2)."""

import json
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Ledger, bench
from interlock import CallStatus, Verdict
from interlock.provider import Tool, tool
from interlock_gateway.config import PolicyConfig

CHANGES = """package interlock.custom

findings contains {{"verdict": "none", "rule": "custom/changes", "obligations": {obligations}}}
"""
CHANGED = "policy asked to change what it decided about (path), and was not asked about the change"


def changing(directory: Path, obligations: Any) -> PolicyConfig:
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "changes.rego").write_text(CHANGES.format(obligations=json.dumps(obligations)))
    return PolicyConfig.model_validate({"overlays": (directory / "overlay",)})


def reading_tools(ledger: Ledger) -> list[Tool[..., Any]]:
    @tool(read_only=True, permission_class="file")
    def show(path: str = "README.md", lines: int = 10) -> str:
        """Show a file."""
        ledger.ran.append(("show", {"path": path, "lines": lines}))
        return "shown"

    return [show]


@pytest.mark.req("POL-2")
@pytest.mark.parametrize(
    "obligations",
    [{"set": {"path": ".env"}}, {"set": {"path": "../../etc/passwd"}}, {"strip": ["path"]}],
)
async def test_an_overlay_does_not_have_another_file_read_than_was_decided_about(
    socket_directory: Path, obligations: Any
) -> None:
    async with at_work(socket_directory, obligations) as at:
        result = await at.agent.session("s").call("show", {"path": "notes.md"})
        assert (result.status, result.text) == (CallStatus.DENIED, CHANGED)
        assert result.decision is not None
        assert [reason.code for reason in result.decision.reasons] == ["gateway_error.obligation_failed"]
        decision = await at.agent.session("s").evaluate("show", {"path": "notes.md"})
        assert decision.verdict is Verdict.DENY
        assert at.ledger.ran == []


@pytest.mark.req("POL-2")
async def test_what_rules_do_not_look_at_may_be_changed(socket_directory: Path) -> None:
    async with at_work(socket_directory, {"set": {"lines": 3}, "strip": ["other"]}) as at:
        result = await at.agent.session("s").call("show", {"path": "notes.md", "lines": 1000, "other": True})
        assert result.status is CallStatus.COMPLETED
        assert at.ledger.ran == [("show", {"path": "notes.md", "lines": 3})]


def at_work(directory: Path, obligations: Any) -> Any:
    work = directory / "work"
    work.mkdir()
    for name in ("notes.md", "README.md", ".env"):
        (work / name).write_text("text\n")
    policy = changing(directory, obligations)
    return bench(directory, tools=reading_tools, policy=policy, workspace_roots=(str(work),))
