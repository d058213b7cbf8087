"""What the SDK promises to be there, and that what its documentation shows is so."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

import interlock
import pytest

PUBLIC = (
    "interlock",
    "interlock.admin",
    "interlock.artifacts",
    "interlock.beneath",
    "interlock.calls",
    "interlock.decisions",
    "interlock.errors",
    "interlock.extensions",
    "interlock.journal",
    "interlock.provider",
    "interlock.references",
    "interlock.results",
    "interlock.testing",
    "interlock.tls",
    "interlock.tools",
    "interlock.tracing",
)
SDK = Path(interlock.__file__).parent
ALLOWED = {"grpc", "google", "interlock"}


def modules() -> list[str]:
    """Every module of the SDK besides the generated stubs and the toolbox, which is an extra."""
    found = pkgutil.walk_packages(interlock.__path__, "interlock.")
    skipped = ("interlock.v1", "interlock.toolbox", "interlock.adapters")
    return ["interlock", *(one.name for one in found if not one.name.startswith(skipped))]


@pytest.mark.req("SDK-1")
def test_a_module_without_a_list_of_names_is_private() -> None:
    public = {name for name in modules() if not any(part.startswith("_") for part in name.split("."))}
    assert public == set(PUBLIC)


@pytest.mark.req("SDK-1")
def test_the_sdk_imports_grpc_and_protobuf_and_nothing_else() -> None:
    foreign: dict[str, set[str]] = {}
    for name in modules():
        path = Path(inspect.getfile(importlib.import_module(name)))
        for node in ast.walk(ast.parse(path.read_text())):
            named = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in (one.partition(".")[0] for one in named):
                if top not in ALLOWED and top not in __import__("sys").stdlib_module_names:
                    foreign.setdefault(name, set()).add(top)
    assert foreign == {}


@pytest.mark.req("SDK-1")
def test_the_distribution_depends_on_grpcio_and_protobuf_only() -> None:
    project = tomllib.loads((SDK.parent / "pyproject.toml").read_text())["project"]
    assert sorted(one.partition(">")[0] for one in project["dependencies"]) == ["grpcio", "protobuf"]


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.req("SDK-1")
def test_the_async_and_the_sync_clients_offer_the_same() -> None:
    from interlock import admin

    for first, second in (
        (interlock.Gateway, interlock.SyncGateway),
        (interlock.Session, interlock.SyncSession),
        (admin.Admin, admin.SyncAdmin),
        (admin.Approvals, admin.SyncApprovals),
    ):
        assert {one for one in dir(first) if one[0] != "_"} == {one for one in dir(second) if one[0] != "_"}
