"""What is not tested where a toolchain is missing, and what each README of an example promises."""

from dataclasses import replace
from pathlib import Path

import pytest
from toolchains import GO, JAVA, ROOT, TYPESCRIPT, Toolchain, built, commands_of

each_toolchain = pytest.mark.parametrize("toolchain", [GO, TYPESCRIPT, JAVA], ids=lambda one: one.folder)


@each_toolchain
def test_without_its_programs_the_run_says_what_was_not_tested(toolchain: Toolchain) -> None:
    missing = replace(toolchain, programs={"no-such-program": "install it"})
    with pytest.raises(pytest.skip.Exception) as skipped:
        built(missing)
    assert str(skipped.value) == f"no-such-program is missing (install it); not tested: {toolchain.untested}"


def test_packages_that_cannot_be_had_are_told_from_code_that_does_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolchains.CACHE", tmp_path)
    unreachable, wrong = "echo 'dial tcp: lookup: no such host'; exit 1", "echo 'undefined: call'; exit 1"
    for build, raised in ((unreachable, pytest.skip.Exception), (wrong, AssertionError)):
        monkeypatch.setattr("toolchains.commands_of", lambda _, build=build: [build])
        with pytest.raises(raised):
            built(GO)
        assert not list(tmp_path.glob("example-*"))


@each_toolchain
def test_a_readme_has_three_commands(toolchain: Toolchain) -> None:
    assert len(commands_of(ROOT / "examples" / toolchain.folder / "README.md")) == 3
