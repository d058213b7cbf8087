"""The suite's server scenarios: what the reference server passes, it passes behind a gateway (CON-1)."""

from pathlib import Path

import pytest
import suite
import yaml
from standing import gateway, reference_server
from suite import Verdicts

HERE = Path(__file__).resolve().parent
RUNS = {
    "0.1.16": (suite.LATEST, "--suite", "all"),
    "2025-11-25": (suite.NEXT, "--requirements", "2025-11-25"),
    "2026-07-28": (suite.NEXT, "--requirements", "2026-07-28", "--timeout", "10000"),
}
AT_LEAST = {"0.1.16": 32, "2025-11-25": 33, "2026-07-28": 40}
# An extension that the SDK does not have: what is not there cannot get worse.
NOT_BUILT = "tasks-"


@pytest.mark.req("CON-1", "MCP-3")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("run", RUNS)
async def test_what_passes_directly_passes_behind_the_gateway(run: str, tmp_path: Path) -> None:
    expected = yaml.safe_load((HERE / "expected_failures.yaml").read_text())["server"] or {}
    handshake = run != "2026-07-28"
    async with reference_server(tmp_path) as upstream, gateway(tmp_path, upstream, handshake=handshake) as url:
        direct = await _verdicts(run, upstream, tmp_path / "direct")
        through = await _verdicts(run, url, tmp_path / "through")

    assert [line for line in suite.complaints(direct) if not line.startswith(NOT_BUILT)] == []
    assert len(suite.passing(direct)) >= AT_LEAST[run]
    worse = suite.worse(direct, through)
    assert [line for line in worse if line.partition(":")[0] not in expected] == []


async def _verdicts(run: str, url: str, directory: Path) -> Verdicts:
    package, *arguments = RUNS[run]
    return await suite.run(package, "server", "--url", url, *arguments, directory=directory)
