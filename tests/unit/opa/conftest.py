"""A real OPA on a Unix socket, for each test its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opa_process import OpaProcess, running_opa


@pytest.fixture
def opa(program: Any, socket_directory: Path) -> Iterator[OpaProcess]:
    """Give a server that runs."""
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock") as server:
        yield server
