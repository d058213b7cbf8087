"""The suite's server scenarios: what the reference server passes, it passes behind a gateway (CON-1)."""

from pathlib import Path

import pytest
import suite
from standing import reference_server

RUNS = {
    "0.1.16": (suite.LATEST, "--suite", "all"),
    "2025-11-25": (suite.NEXT, "--requirements", "2025-11-25"),
    "2026-07-28": (suite.NEXT, "--requirements", "2026-07-28"),
}
AT_LEAST = {"0.1.16": 32, "2025-11-25": 33, "2026-07-28": 40}
# An extension that the SDK does not have: what is not there cannot get worse.
NOT_BUILT = "tasks-"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("run", RUNS)
async def test_the_reference_server_passes_the_suite_itself(run: str, tmp_path: Path) -> None:
    package, *arguments = RUNS[run]
    async with reference_server(tmp_path) as url:
        direct = await suite.run(package, "server", "--url", url, *arguments, directory=_new(tmp_path / "direct"))
    assert [line for line in suite.complaints(direct) if not line.startswith(NOT_BUILT)] == []
    assert len(suite.passing(direct)) >= AT_LEAST[run]


def _new(directory: Path) -> Path:
    directory.mkdir()
    return directory
