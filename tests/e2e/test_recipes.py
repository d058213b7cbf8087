"""The recipes of CONTRIBUTING.md work as they stand."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from interlock.provider import ToolProvider
from interlock.toolbox import memory_operations
from interlock.toolbox.binding import Workbench
from interlock.toolbox.undo import Undo
from interlock.v1.provider_pb2 import ToolInvocation
from interlock.v1.tool_provider_service_pb2 import ExecuteRequest
from interlock_gateway.policy.inspection import check, run_rego_tests
from interlock_gateway.policy.loader import load_bundle, read_bundle
from interlock_gateway.policy.trial import run_cases

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# A path at the end of a paragraph, and the block below it that is to be its content.
FILE = re.compile(r"`(?P<path>[\w./]+)`:\n\n```\w+\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
FILES = {file["path"]: file["body"] for file in FILE.finditer(DOCUMENT)}
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """The shipped policies and the cases, with what the recipe adds."""
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    for path, body in FILES.items():
        if path.startswith(("policies/", "tests/cases/")):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(body, encoding="utf-8")
    return tmp_path


def test_the_rule_of_the_recipe_passes_its_own_tests_and_every_check(policies: Path) -> None:
    directory = policies / "policies" / "interlock"
    assert check(read_bundle(directory=directory)) == ()
    report = run_rego_tests(load_bundle(directory=directory))
    own = [result for result in report.results if "rules/intent/" in result.file]
    assert len(own) == 4
    assert [result for result in own if not result.passed] == []
    assert not [file for file in report.not_covered if "rules/intent/" in file]


def test_the_case_of_the_recipe_is_decided_as_it_says(policies: Path) -> None:
    found = run_cases(policies / "tests" / "cases", directory=policies / "policies" / "interlock")
    assert [result.message for result in found] == [""]


async def test_the_tool_of_the_recipe_works() -> None:
    names: dict[str, Any] = {}
    exec(compile(FILES["sdk/interlock/toolbox/tools/checksum.py"], "checksum.py", "exec"), names)
    operations, files = memory_operations(["/base"])
    files.put("/base/empty", b"")
    made = names["checksum_tool"](Workbench(operations, Undo(operations)))
    provider = ToolProvider([made], name="recipe", version="1")
    request = ExecuteRequest(invocation=ToolInvocation(tool="checksum", input=b'{"path": "empty"}'))
    assert (await provider.execute(request)).result.output == EMPTY_SHA256


def test_the_requirement_of_the_recipe_has_the_form_of_the_others() -> None:
    row = re.search(r"^\| TOOL-\d+ \|.*\| planned \|$", DOCUMENT, re.MULTILINE)
    assert row
    last = max(int(number) for number in re.findall(r"^\| TOOL-(\d+) ", _requirements(), re.MULTILINE))
    assert f"TOOL-{last + 1} " in row.group()


def _requirements() -> str:
    return (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
