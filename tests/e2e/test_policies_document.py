"""The change that `docs/policies.md` takes from the first line to the last works, word for word."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from played_document import ROOT, Shell, play, shell

DOCUMENT = "docs/policies.md"
# A reader's default ports are free; a test may not count on it.
OWN_PORTS = {"INTERLOCK__SERVER__LISTEN": "unix:{state}/agent.sock", "INTERLOCK__METRICS__LISTEN": "127.0.0.1:0"}


@pytest.fixture
def opened(socket_directory: Path) -> Iterator[Shell]:
    with shell(socket_directory, ROOT, **OWN_PORTS) as made:
        yield made


@pytest.mark.timeout(300)
@pytest.mark.req("LIFE-1", "LIFE-2", "LIFE-3", "LIFE-5", "LIFE-6")
def test_a_change_goes_from_the_first_line_to_the_last_word_for_word(opened: Shell) -> None:
    played = 0
    for one in play(DOCUMENT, opened):
        assert one.trouble is None, f"{one.place}: {one.command}: {one.trouble}\n{one.ended.output}"
        played += 1
    assert played > 20
