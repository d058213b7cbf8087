"""What policy asks for of a `resolve` call holds for a standing handler, too."""

from pathlib import Path

import pytest
from asked_people import asking
from gateway_bench import bench
from interlock import CallStatus


@pytest.mark.req("PREV-12", "PIPE-2")
async def test_a_standing_handler_is_not_asked_when_policy_wants_a_preview(socket_directory: Path) -> None:
    policy = asking(socket_directory, "resolve")
    rules = socket_directory / "overlay" / "custom" / "ask.rego"
    rules.write_text(rules.read_text().replace('"verdict": "checkpoint"', '"verdict": "preview"'))
    async with bench(socket_directory, policy=policy) as at:
        session = at.agent.session("s")
        await session.call("stand", {"label": "plans"})
        result = await session.resolve("apply", "go")
        assert result.status is CallStatus.DENIED
        assert result.decision is not None
        assert [reason.code for reason in result.decision.reasons] == ["preview_at_apply"]
    assert at.ledger.ran == []
