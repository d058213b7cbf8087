"""ARCHITECTURE.md and SECURITY.md are true of the sources, as far as that can be told without reading."""

import re
from pathlib import Path

import pytest
from interlock_gateway.core.decision import GatewayErrorCode

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = ROOT / "gateway" / "interlock_gateway"
DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([\w./-]+(?:\.(?:py|rego|json)|/))`")
NAMED = sorted(set(NAME.findall(DOCUMENT)))
PARAGRAPHS = re.split(r"\n\n|\n(?=\|)", DOCUMENT)
TESTS = sorted(set(re.findall(r"`(tests/[\w./-]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))))
# What the gateway makes when it runs.
MADE = {"audit/", "artifacts/"}


def places_of(name: str) -> list[Path]:
    """Where a file may be: by its path, in `pipeline/`, or beside what the same paragraph names with its path."""
    named = [one for text in PARAGRAPHS if f"`{name}`" in text for one in NAME.findall(text) if "/" in one]
    beside = [Path(one) if one.endswith("/") else Path(one).parent for one in named]
    return [ROOT / name, *(GATEWAY / place / name for place in (Path(), Path("pipeline"), *beside))]


@pytest.mark.parametrize("path", [path for path in NAMED if path not in MADE])
def test_every_file_it_names_is_there(path: str) -> None:
    assert any(place.exists() for place in places_of(path))


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
