"""The short version of REL-5; `preview_interleavings.previews_hold` takes any number."""

from pathlib import Path

import pytest
from preview_interleavings import previews_hold
from preview_rig import preview_rig


@pytest.mark.req("REL-5", "PREV-5", "PREV-13")
async def test_what_is_applied_is_what_was_previewed_whatever_happens_in_between(socket_directory: Path) -> None:
    """The short version: 100 of 10,000 interleavings."""
    async with preview_rig(socket_directory) as rig:
        tally = await previews_hold(rig, interleavings=100, seed=5)
    assert tally.faults == []
    assert 10 < tally.held < 90
    assert len(tally.events) == 15
    assert tally.at_once > 10
