"""Files of one package as one module: the same rules, and places that can be found again."""

import pytest
from interlock_gateway.policy.embedded.linking import link, relocate
from interlock_gateway.policy.settings import PolicySourceError

FIRST = "package a.b\n\nimport data.x\n\none if x.y\n"
SECOND = "# A comment first.\npackage a.b\n\nimport data.x\nimport data.z as zed\nimport rego.v1\n\ntwo if zed.y\n"


def test_files_of_a_package_become_one_module_with_their_imports_once() -> None:
    (module,) = link([("first.rego", FIRST), ("second.rego", SECOND)])
    assert module.package == "a.b"
    lines = module.source.split("\n")
    assert lines[:3] == ["package a.b", "import data.x as x", "import data.z as zed"]
    assert lines.count("one if x.y") == lines.count("two if zed.y") == 1
    assert sum(line.startswith(("package", "import")) for line in lines) == 3


def test_packages_stay_apart() -> None:
    modules = link([("first.rego", FIRST), ("other.rego", "package a.c\n\nthree := 3\n")])
    assert [module.package for module in modules] == ["a.b", "a.c"]


def test_places_lead_back_to_the_files() -> None:
    modules = link([("first.rego", FIRST), ("second.rego", SECOND)])
    line = modules[0].source.split("\n").index("two if zed.y") + 1
    assert modules[0].place(line) == ("second.rego", 8)
    assert relocate(f"--> a.b:{line}:5\nerror", modules) == "--> second.rego:8:5\nerror"
    assert relocate("--> elsewhere:1:2", modules) == "--> elsewhere:1:2"


@pytest.mark.parametrize(
    ("sources", "place"),
    [
        ([("a.rego", "x := 1\n")], "a.rego:1"),
        ([("a.rego", "package a\n\nx := 1\n\nimport data.y\n")], "a.rego:5"),
        ([("a.rego", "package a\n\nimport data.x\n"), ("b.rego", "package a\n\nimport data.y as x\n")], "b.rego:3"),
    ],
)
def test_files_that_cannot_be_joined_are_refused_with_their_place(sources: list[tuple[str, str]], place: str) -> None:
    with pytest.raises(PolicySourceError) as caught:
        link(sources)
    assert caught.value.place == place
