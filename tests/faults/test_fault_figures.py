"""The table of docs/reliability.md is made of docs/reliability.json, and says what was run beside what was wanted."""

import json
from pathlib import Path

from fault_figures import BEGIN, DOCUMENT, END, FIGURES, Figure, keep, shown_in
from fault_parts import PARTS

ONE = Figure("p", "REL-4", "kills", "kills", wanted=500, run=20, faults=1, seconds=61.2, seed=7, date="2026-01-02")


def test_the_document_shows_the_kept_figures() -> None:
    text = DOCUMENT.read_text()
    assert shown_in(text, json.loads(FIGURES.read_text())) == text


def test_every_kept_figure_is_of_a_part_that_there_is() -> None:
    assert set(json.loads(FIGURES.read_text())) <= {part.name for part in PARTS}


def test_a_part_takes_the_place_of_its_last_figures_and_leaves_the_others(tmp_path: Path) -> None:
    figures, document = tmp_path / "f.json", tmp_path / "f.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    for part, run in (("p", 1), ("q", 2), ("p", 20)):
        keep(Figure(part, "REL-4", "kills", "kills", wanted=500, run=run, faults=0, seconds=1), figures, document)
    text = document.read_text()
    assert [one["run"] for one in json.loads(figures.read_text()).values()] == [20, 2]
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text


def test_the_table_shows_what_was_run_beside_what_was_wanted(tmp_path: Path) -> None:
    figures, document = tmp_path / "f.json", tmp_path / "f.md"
    document.write_text(f"{BEGIN}{END}")
    keep(ONE, figures, document)
    assert "| REL-4 | kills | 500 kills | 20 | 1 | 61 | 7 | 2026-01-02 |" in document.read_text()
