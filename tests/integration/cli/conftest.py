"""A gateway and a toolbox as people run them: `interlock serve` and `interlock toolbox`, each a process."""

from collections.abc import Iterator

import pytest
from running_programs import Place, place


@pytest.fixture(scope="module")
def at() -> Iterator[Place]:
    """A gateway in front of a toolbox, shared by the tests of a module."""
    with place() as made:
        yield made
