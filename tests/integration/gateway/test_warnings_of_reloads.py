"""Policies that are taken and odd: who reloads them is told what `interlock policy check` would have said (LIFE-3)."""

import logging
from pathlib import Path

import pytest
from gateway_bench import bench
from interlock_gateway.config import PolicyConfig
from policy_overlays import denying, operating, overlay_in, status_of
from scraping import samples_in, scraped, value

ENDED = """\
exemptions:
  - id: old-files
    rule: checkpoint/destructive
    scope: {tools: [wreck]}
    reason: nobody needs them
    owner: platform
    expires: "2020-01-01T00:00:00Z"
"""


@pytest.mark.req("LIFE-3", "LIFE-1", "POL-2")
async def test_warnings_come_with_an_accepted_reload_and_stay_in_the_status(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    overlay = overlay_in(socket_directory)
    policy = PolicyConfig(overlays=(overlay,), workers=1)
    async with bench(socket_directory, policy=policy) as at, operating(at) as admin:
        overlay_in(socket_directory, denying("hush"))  # without a test
        (overlay / "data.yaml").write_text(ENDED)
        tried = await admin.reload_policy(check_only=True)
        assert (await admin.policy_status()).HasField("last_reload") is False
        with caplog.at_level(logging.WARNING):
            answer = await admin.reload_policy()
        status = await status_of(at)
        assert value(samples_in(await scraped(at)), "interlock_policy_reloads_total", outcome="accepted") == 1
    assert tried.reload.accepted
    assert answer.reload.accepted
    assert list(tried.reload.problems) == list(answer.reload.problems) == list(status.last_reload.problems)
    found = {one.code: one for one in answer.reload.problems}
    assert set(found) == {"exemption_expired", "metadata_missing", "test_missing"}
    assert found["test_missing"].file == "overlay/custom/word.rego"
    assert "ended at 2020-01-01" in found["exemption_expired"].message
    said = [record for record in caplog.records if "is odd in the policies" in record.message]
    assert {vars(one)["code"] for one in said} == set(found)
    assert not [record for record in caplog.records if "refused" in record.message]
