"""Every rule that is turned off says why, beside it."""

import re
import tomllib
from collections.abc import Iterator

from repository import our_python, text_of

# The rules, a dash or two, and why.
NOQA = re.compile(r"#\s*noqa\b(?!: [A-Z]+\d+(, [A-Z]+\d+)* -{1,2} \w)", re.IGNORECASE)
# The errors in brackets, and why in a comment after it.
TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore\b(?!\[[a-z, -]+\]\s+# \w)")
SELF = "tests/house/test_relaxations.py"


def test_every_exception_from_a_lint_rule_names_the_rule_and_the_reason() -> None:
    found = list(places_of(NOQA))
    assert not found, "\n".join(found)


def test_every_exception_from_type_checking_names_the_error_and_the_reason() -> None:
    found = list(places_of(TYPE_IGNORE))
    assert not found, "\n".join(found)


def test_every_lint_rule_turned_off_has_its_reason_beside_it() -> None:
    lint = text_of("pyproject.toml").split("[tool.ruff.lint]", 1)[1].split("[tool.ruff.lint.flake8", 1)[0]
    rules_off = re.findall(r'^ *"[A-Z]+\d*",.*$|^"[^"]+" = \[".*$', lint, re.MULTILINE)
    assert rules_off
    assert not [line for line in rules_off if not re.search(r"# \w", line)]


def test_every_relaxation_of_the_type_checker_has_its_reason_above_it() -> None:
    text = text_of("pyproject.toml")
    overrides = text.split("[[tool.mypy.overrides]]")[1:]
    assert len(overrides) == len(tomllib.loads(text)["tool"]["mypy"]["overrides"])
    assert not [override for override in overrides if not override.lstrip().startswith("# ")]


def places_of(pattern: re.Pattern[str]) -> Iterator[str]:
    """Give the places in our Python files that match."""
    for path in our_python():
        if path != SELF:
            for number, line in enumerate(text_of(path).splitlines(), 1):
                if pattern.search(line):
                    yield f"{path}:{number}: {line.strip()}"
