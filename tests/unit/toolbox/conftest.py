"""What the toolbox tests share."""

from pathlib import Path

import pytest
from toolbox_workplaces import Box, Workplace, box_of, local_workplace, memory_workplace


@pytest.fixture(params=["local", "memory"])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Workplace:
    return local_workplace(tmp_path) if request.param == "local" else memory_workplace()


@pytest.fixture
def local(tmp_path: Path) -> Workplace:
    return local_workplace(tmp_path)


@pytest.fixture
def box(workplace: Workplace) -> Box:
    return box_of(workplace)


@pytest.fixture
def local_box(local: Workplace) -> Box:
    return box_of(local)
