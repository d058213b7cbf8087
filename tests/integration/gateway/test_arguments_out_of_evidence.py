"""Policy keeps what it says out of the evidence: in no line of the log does it stand, and the tool has it (AUD-1)."""

import json
from pathlib import Path

import pytest
from audited_calls import receipts_in
from gateway_bench import bench
from interlock import CallStatus
from interlock_gateway.config import PolicyConfig

SETTINGS = {"redaction": {"by_tool": {"set_value": ["/input/call/input/value"]}}}


@pytest.mark.req("AUD-1", "POL-2")
async def test_an_argument_that_policy_masks_is_in_no_line_of_the_log(socket_directory: Path) -> None:
    overlay = socket_directory / "overlay"
    overlay.mkdir()
    (overlay / "data.yaml").write_text(json.dumps({"settings": SETTINGS}))
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,))) as at:
        session = at.agent.session("s")
        changed = await session.call("set_value", {"value": "John has flu"}, call_id="c1")
        shown = await session.call("echo", {"text": "well"}, call_id="c2")
        assert (changed.status, shown.status) == (CallStatus.COMPLETED, CallStatus.COMPLETED)
        assert at.ledger.ran[0] == ("set_value", "John has flu")
    receipts = receipts_in(socket_directory)
    assert receipts["c1"]["input"]["call"]["input"] == {"value": "[redacted:policy]"}
    assert "/input/call/input/value" in receipts["c1"]["masked"]
    assert receipts["c2"]["input"]["call"]["input"] == {"text": "well"}
    lines = b"".join(path.read_bytes() for path in (socket_directory / "state" / "audit").iterdir() if path.is_file())
    assert b"well" in lines
    assert b"flu" not in lines
