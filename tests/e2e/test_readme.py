"""What the README and the examples tell a newcomer to type works, word for word, and prints what they show."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from played_document import ROOT, Shell, first_difference, play, shell
from snippets import PLAYED, snippets_in

# A reader's default ports are free; a test may not count on it.
OWN_PORTS = {"INTERLOCK__SERVER__LISTEN": "unix:{state}/agent.sock", "INTERLOCK__METRICS__LISTEN": "127.0.0.1:0"}


@pytest.fixture
def opened(socket_directory: Path) -> Iterator[Shell]:
    with shell(socket_directory, ROOT, **OWN_PORTS) as made:
        yield made


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", [document for document, heading in PLAYED.items() if not heading])
def test_the_document_works_word_for_word(opened: Shell, document: str) -> None:
    played = 0
    for one in play(document, opened):
        assert one.trouble is None, f"{one.place}: {one.command}: {one.trouble}\n{one.ended.output}"
        played += 1
    assert played > 8


def test_what_the_readme_shows_of_the_demonstration_is_what_it_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [one.body for one in snippets_in("README.md", readme) if "agent   > " in one.body]
    printed = subprocess.run(
        [sys.executable, "-m", "interlock_gateway.demo"], capture_output=True, text=True, check=True, timeout=100
    ).stdout
    assert len(shown) == 2
    assert [scene for scene in shown if scene not in printed] == []


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (["a", "b"], "a\nb\n", None),
        (["a", "..."], "a\nb\nc\n", None),
        (["...", "c"], "a\nb\nc\n", None),
        (["a", "...", "id: ...", ""], "a\nb\nid: 12\n\n", None),
        (["a", "c"], "a\nb\nc\n", "c"),
        (["...", "d"], "a\nb\n", "d"),
        (["a"], "a\nb\n", "nothing, where it says 'b'"),
        ([], "a\n", "nothing, where it says 'a'"),
        ([], "", None),
    ],
)
def test_what_is_shown_is_compared_line_by_line_but_for_three_dots(
    shown: list[str], printed: str, missing: str | None
) -> None:
    assert first_difference(shown, printed) == missing
