"""ARCHITECTURE.md and SECURITY.md are true of the sources, as far as that can be told without reading."""

import re
from pathlib import Path

import pytest
from interlock_gateway.core.decision import GatewayErrorCode

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = ROOT / "gateway" / "interlock_gateway"
DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w./-]+(?:\.(?:py|rego|json)|/))`", DOCUMENT)))
TESTS = sorted(set(re.findall(r"`(tests/[\w./-]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))))
# What the gateway makes when it runs.
MADE = {"audit/", "artifacts/"}


@pytest.mark.parametrize("path", [path for path in NAMED if path not in MADE])
def test_every_file_it_names_is_there(path: str) -> None:
    assert (GATEWAY / path).exists() or (ROOT / path).exists() or (GATEWAY / "pipeline" / path).exists()


@pytest.mark.parametrize("path", TESTS)
def test_every_test_that_the_security_page_points_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_room_is_named() -> None:
    rooms = {f"{path.name}/" for path in GATEWAY.iterdir() if (path / "__init__.py").is_file()}
    assert rooms - set(NAMED) - {"config_loader/"} == set()


def test_every_way_in_which_deciding_fails_is_in_the_table() -> None:
    assert {code.value for code in GatewayErrorCode} - set(
        re.findall(r"\| `(\w+)` \|$", DOCUMENT, re.MULTILINE)
    ) == set()
