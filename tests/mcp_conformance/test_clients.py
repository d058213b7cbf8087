"""The suite's client scenarios outside authorization: the gateway's side towards MCP servers passes each (CON-1)."""

import sys
from pathlib import Path

import pytest
import suite

HERE = Path(__file__).resolve().parent
SCENARIOS = (
    "elicitation-sep1034-client-defaults",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "http-standard-headers",
    "initialize",
    "json-schema-2020-12-preservation",
    "json-schema-ref-no-deref",
    "request-metadata",
    "sep-2322-client-request-state",
    "sse-retry",
    "tools_call",
)


@pytest.mark.req("CON-1", "MCP-2")
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_client_scenario_passes(scenario: str, tmp_path: Path) -> None:
    client = f"{sys.executable} {HERE / 'scenario_client.py'}"
    arguments = ("client", "--command", client, "--scenario", scenario)
    found = await suite.run(suite.NEXT, *arguments, directory=tmp_path / "results", passes=True)
    assert suite.complaints(found) == []
    assert any(verdict.status == "SUCCESS" for verdict in found.values())


async def test_every_client_scenario_outside_authorization_is_played(tmp_path: Path) -> None:
    listed = await suite.scenarios(suite.NEXT, "--client", directory=tmp_path)
    required = {name for name, revisions in listed.items() if revisions != "extension"}
    assert {name for name in required if not name.startswith("auth/")} == set(SCENARIOS)
