"""What `docs/policies.md` says about policies is true of them."""

import re
from pathlib import Path

import pytest
from interlock_gateway.policy.inspection import check, run_rego_tests
from interlock_gateway.policy.loader import load_bundle, read_bundle, shipped_policies

DOCUMENT = Path(__file__).parents[3] / "docs" / "policies.md"
WRITTEN_AT = 1798761600.0
BLOCKS = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    found = BLOCKS.finditer(DOCUMENT.read_text(encoding="utf-8"))
    return [block["body"] for block in found if block["language"] == language]


def test_every_reason_code_is_in_the_document() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in shipped_policies().rglob("*.rego") if _decides(path))
    codes = set(re.findall(r'"code": "(\w+)"', sources))
    documented = set(re.findall(r"`(\w+)`", DOCUMENT.read_text(encoding="utf-8")))
    assert codes - documented == set()


def _decides(path: Path) -> bool:
    return not path.name.endswith("_test.rego")


@pytest.mark.req("POL-2")
def test_every_overlay_in_the_document_can_be_loaded(tmp_path: Path) -> None:
    data = [block for block in blocks("yaml") if block.startswith(("settings:", "exemptions:"))]
    assert len(data) >= 3
    for written in data:
        (tmp_path / "data.yaml").write_text(written, encoding="utf-8")
        read_bundle(overlays=[tmp_path], now=WRITTEN_AT)


@pytest.mark.req("POL-2", "LIFE-1")
def test_the_overlay_in_the_document_works_as_it_stands(tmp_path: Path) -> None:
    rule, test = blocks("rego")
    settings = blocks("yaml")[0]
    custom = tmp_path / "house" / "custom"
    custom.mkdir(parents=True)
    (custom / "office_hours.rego").write_text(rule, encoding="utf-8")
    (custom / "office_hours_test.rego").write_text(test, encoding="utf-8")
    (tmp_path / "house" / "data.yaml").write_text(settings, encoding="utf-8")
    assert check(read_bundle(overlays=[tmp_path / "house"])) == ()
    (custom.parent / "data.yaml").unlink()
    report = run_rego_tests(load_bundle(overlays=[tmp_path / "house"]))
    assert report.passed
    assert report.coverage == 1.0
