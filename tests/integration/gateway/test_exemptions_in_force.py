"""Exemptions through a real gateway: the call runs, and decision, receipt and metrics say why (POL-2)."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from audited_calls import receipts_in
from gateway_bench import Bench, bench
from interlock import CallStatus, Verdict
from interlock_gateway.config import PolicyConfig
from interlock_gateway.transport.grpc.encode_admin import policy_status
from scraping import samples_in, scraped, value

EXEMPTION = """\
exemptions:
  - id: old-files
    rule: checkpoint/destructive
    scope: {tools: [wreck]}
    reason: nobody needs them
    owner: platform
    expires: "%s"
"""


def in_force(at: Bench) -> int:
    return policy_status(at.gateway.rooms.policy, None, at.clock.now()).exemptions


def policy(directory: Path, ends: datetime) -> PolicyConfig:
    made = directory / "overlay"
    made.mkdir()
    (made / "data.yaml").write_text(EXEMPTION % ends.isoformat())
    return PolicyConfig(overlays=(made,))


@pytest.mark.req("POL-2")
async def test_an_exempted_call_runs_until_the_exemption_ends_and_says_so(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=5)
    with caplog.at_level(logging.WARNING):
        async with bench(socket_directory, policy=policy(socket_directory, ends)) as at:
            session = at.agent.session("s")
            exempted = await session.call("wreck", {"what": "x"}, call_id="exempted")
            assert (exempted.status, exempted.decision.verdict) == (CallStatus.COMPLETED, Verdict.ALLOW)
            (note,) = exempted.decision.notes
            assert note.startswith(
                "exemption old-files (platform): checkpoint/destructive checkpoint becomes allow until"
            )
            (used,) = exempted.decision.exemptions
            assert (used.id, used.rule, used.owner) == ("old-files", "checkpoint/destructive", "platform")
            assert (used.reason, used.scope, used.expires_at) == ("nobody needs them", '{"tools": ["wreck"]}', ends)
            assert in_force(at) == 1
            harmless = (await session.call("echo", {"text": "x"})).decision
            assert (harmless.notes, harmless.exemptions) == ((), ())
            found = samples_in(await scraped(at))
            assert value(found, "interlock_policy_exemptions", standing="expiring") == 1
            assert value(found, "interlock_policy_exemptions") == 1

            at.clock.ahead_s = 6 * 86_400.0
            late = await session.call("wreck", {"what": "y"}, call_id="late")
            assert (late.status, late.decision.notes, late.decision.exemptions) == (CallStatus.DENIED, (), ())
            assert in_force(at) == 0
            assert value(samples_in(await scraped(at)), "interlock_policy_exemptions", standing="expired") == 1
            assert at.ledger.names() == ["wreck", "echo"]
    assert receipts_in(socket_directory)["exempted"]["result"]["notes"] == [note]
    said = [str(record.__dict__.get("problem")) for record in caplog.records]
    assert any("exemption old-files (platform) of checkpoint/destructive ends at" in text for text in said)
