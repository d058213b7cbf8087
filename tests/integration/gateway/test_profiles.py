"""What the profiles change: `observe` records and enforces nothing but gateway errors, `strict` asks for more."""

from pathlib import Path

import pytest
from gateway_bench import bench
from interlock import CallStatus, Verdict
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode


@pytest.mark.req("POL-5")
async def test_observe_lets_calls_run_and_records_what_policy_would_have_said(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=PolicyConfig(profile="observe")) as at:
        session = at.agent.session("s")
        wrecked = await session.call("wreck", {"what": "x"})
        assert wrecked.status is CallStatus.COMPLETED
        assert wrecked.decision.verdict is Verdict.CHECKPOINT
        assert wrecked.decision.profile == "observe"
        assert (await session.call("careful", {"text": "unsure"})).status is CallStatus.COMPLETED
        assert at.ledger.names() == ["wreck", "careful"]


@pytest.mark.req("POL-5", "PIPE-6")
async def test_observe_still_denies_what_the_gateway_could_not_decide(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_input: bytes) -> bytes:
        raise DecisionError(GatewayErrorCode.POLICY_TIMEOUT, "too slow")

    async with bench(socket_directory, policy=PolicyConfig(profile="observe")) as at:
        monkeypatch.setattr(at.gateway.rooms.engine, "evaluate", broken)
        result = await at.agent.session("s").call("echo", {"text": "x"})
        assert result.status is CallStatus.DENIED
        assert result.decision.reasons[0].code == "gateway_error.policy_timeout"
        assert at.ledger.ran == []


async def test_an_overlay_may_import_rego_v1_and_make_a_decision_stricter(socket_directory: Path) -> None:
    custom = socket_directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "quiet.rego").write_text(
        "# METADATA\n# title: Nobody says hush\npackage interlock.custom\n\nimport rego.v1\n\n"
        'findings contains {"verdict": "deny", "code": "hush", '
        '"message": "not that word", "rule": "custom/quiet"} if {\n'
        '\tinput.call.input.text == "hush"\n}\n'
    )
    async with bench(socket_directory, policy=PolicyConfig(overlays=(custom.parent,))) as at:
        session = at.agent.session("s")
        assert (await session.call("echo", {"text": "hello"})).status is CallStatus.COMPLETED
        denied = await session.call("echo", {"text": "hush"})
        assert (denied.status, denied.text) == (CallStatus.DENIED, "not that word")
