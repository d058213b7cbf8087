"""The public MCP conformance suite, run against a server or a client; what each of its checks came to."""

import asyncio
import json
import os
import re
from asyncio.subprocess import PIPE, STDOUT
from dataclasses import dataclass
from pathlib import Path

from mcp_gateway import python_path
from node_programs import npm_program

LATEST = "@modelcontextprotocol/conformance"
NEXT = "@modelcontextprotocol/conformance-next"
PATIENCE_S = 100.0
GOOD = frozenset({"SUCCESS", "INFO", "SKIPPED", "WARNING"})
RESULT_FOLDER = re.compile(r"(?:server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one scenario; `nth` tells those apart that have the same name."""

    scenario: str
    name: str
    nth: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it: `SUCCESS`, `FAILURE`, `WARNING`, `INFO` or `SKIPPED`, and the suite's words."""

    status: str
    words: str

    @property
    def good(self) -> bool:
        return self.status in GOOD


Verdicts = dict[Check, Verdict]


async def run(package: str, *arguments: str, directory: Path, passes: bool = False) -> Verdicts:
    """Run the suite, with its results in `directory`. `passes`: it has to find that everything is as it should be."""
    code, output = await _ended(package, *arguments, "--output-dir", str(_made(directory)), directory=directory)
    found = _read(directory)
    assert found, output
    assert code == 0 or not passes, output
    return found


async def scenarios(package: str, side: str, *, directory: Path) -> dict[str, str]:
    """The scenarios of one side, `--client` or `--server`, with the revisions that each is for."""
    code, output = await _ended(package, "list", side, directory=directory)
    assert code == 0, output
    return dict(re.findall(r"^  - (\S+) \[(.*)\]$", output, re.MULTILINE))


async def _ended(package: str, *arguments: str, directory: Path) -> tuple[int, str]:
    """The exit code and the output of the suite."""
    env = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": python_path()}
    command = (*npm_program(package), *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT, env=env, cwd=directory)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode()


def passing(verdicts: Verdicts) -> set[str]:
    """The scenarios of which no check failed; a warning is about what a server should do, and does not have to."""
    scenarios = {check.scenario for check in verdicts}
    return scenarios - {check.scenario for check, verdict in verdicts.items() if not verdict.good}


def complaints(verdicts: Verdicts) -> list[str]:
    """A line for each check that is not good."""
    bad = [(check, verdict) for check, verdict in verdicts.items() if not verdict.good]
    return [f"{check.scenario}: {check.name}: {verdict.status} {verdict.words}" for check, verdict in bad]


def worse(direct: Verdicts, through: Verdicts) -> list[str]:
    """A line for each check that succeeds directly, and fails, is warned of or is missing through the gateway."""
    lines = []
    for check, before in direct.items():
        after = through.get(check, Verdict("MISSING", ""))
        if before.status == "SUCCESS" and after.status in {"FAILURE", "WARNING", "MISSING"}:
            lines.append(f"{check.scenario}: {check.name}: {after.status} {after.words}")
    return lines


def _made(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


def _read(directory: Path) -> Verdicts:
    found: Verdicts = {}
    for path in sorted(directory.glob("*/checks.json")):
        named = RESULT_FOLDER.fullmatch(path.parent.name)
        assert named, path
        seen: dict[str, int] = {}
        for check in json.loads(path.read_text()):
            nth = seen[check["id"]] = seen.get(check["id"], -1) + 1
            words = str(check.get("errorMessage") or "")
            found[Check(named["scenario"], check["id"], nth)] = Verdict(check["status"], words)
    return found
