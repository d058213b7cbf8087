"""Helm, and what the chart's own values files come to."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from rendering import Helm, Manifest, example


@pytest.fixture(scope="session")
def helm(program: Callable[[str], Path]) -> Helm:
    """Give Helm; skip where there is none."""
    return Helm(program("helm"))


@pytest.fixture(scope="session")
def rendered(helm: Helm) -> Callable[[str], list[Manifest]]:
    """Render one of the chart's own values files, once."""
    return cache(lambda name: helm.manifests(example(name)))
