"""The short version of REL-6; `undo_model.undo_holds` takes any size."""

from pathlib import Path

import pytest
from undo_model import Sizes, undo_holds


@pytest.mark.req("REL-6", "UNDO-2", "UNDO-3", "UNDO-4")
async def test_random_work_is_taken_back_exactly_whatever_fails(socket_directory: Path) -> None:
    tally = await undo_holds(socket_directory, Sizes(rounds=8, steps=8, kills=0))
    assert tally.undone > 10
    assert tally.irreversible
    assert tally.failed


@pytest.mark.req("REL-6", "REL-4", "UNDO-4")
async def test_random_work_is_taken_back_once_though_the_gateway_is_killed_meanwhile(socket_directory: Path) -> None:
    tally = await undo_holds(socket_directory, Sizes(rounds=0, steps=6, kills=4, seed=2))
    assert tally.kills >= 3
    assert tally.settled
