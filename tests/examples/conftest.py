"""The gateway that the examples are run against."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "integration" / "cli"))

from running_programs import Place, place


@pytest.fixture(scope="module")
def at() -> Iterator[Place]:
    """`interlock serve` in front of `interlock toolbox`; one call at a time may wait for a person."""
    with place(INTERLOCK__LIMITS__MAX_OPEN_CHECKPOINTS="1") as made:
        yield made
