"""The SDK's public surface is a list, kept short, and everything else is private."""

import importlib

import pytest
from repository import module_name, our_python

MOST_NAMES = 15
PUBLIC_MODULES = [
    name
    for name in map(module_name, our_python("sdk/interlock/"))
    if "._" not in name and not name.startswith("interlock.toolbox.")
]


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_a_public_module_lists_its_few_names(name: str) -> None:
    names = importlib.import_module(name).__all__

    assert names == sorted(set(names))
    assert len(names) <= MOST_NAMES
    assert not [one for one in names if one.startswith("_")]


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_everything_a_module_offers_is_there_and_explained(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert not [one for one in module.__all__ if not hasattr(module, one)]
    offered = [getattr(module, one) for one in module.__all__]
    assert not [one for one in offered if isinstance(one, type) and not one.__doc__]
