"""Every requirement said to be met is claimed by a test, and every claim is of a requirement."""

import re

import pytest
from repository import text_of, tracked_files
from requirement_claims import Account, Claim, Requirement, State, claims_in, lines, read_account, read_requirements

# In the METADATA of a rule.
IDS_OF_A_RULE = re.compile(r"^#\s+requirements: \[(.+)\]$", re.MULTILINE)


def test_no_test_claims_an_unknown_requirement() -> None:
    assert not read_account().unknown


def test_no_rule_names_an_unknown_requirement() -> None:
    rules = [path for path in tracked_files() if path.endswith(".rego")]
    named = {id_ for path in rules for ids in IDS_OF_A_RULE.findall(text_of(path)) for id_ in ids.split(", ")}
    assert named
    assert not named - read_account().requirements.keys()


def test_every_built_requirement_is_claimed_by_a_test() -> None:
    assert not [requirement.id for requirement in read_account().unproven]


def test_a_requirement_is_read_from_its_row() -> None:
    document = "| id | what | state |\n|---|---|---|\n| A-1 | It is so | built |\n| B-2 | It will be | planned |\n"

    assert read_requirements(document) == {
        "A-1": Requirement("A-1", "It is so", State.BUILT),
        "B-2": Requirement("B-2", "It will be", State.PLANNED),
    }


@pytest.mark.parametrize("row", ["| A-1 | What | done |\n", "| A-1 | What | built |\n| A-1 | What | built |\n"])
def test_a_row_with_a_strange_state_or_a_second_time_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match=r"done|twice"):
        read_requirements(row)


def test_claims_are_found_on_functions_modules_and_parameters() -> None:
    mark = "pytest.mark." + "req"
    source = f"pytestmark = [{mark}('A-1')]\n@{mark}('A-2', 'A-3')\ndef test(): pytest.param(1, marks={mark}('A-4'))"

    assert {claim.id for claim in claims_in(source, "test_it.py")} == {"A-1", "A-2", "A-3", "A-4"}


def test_a_claim_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r"test_it\.py:1"):
        list(claims_in("pytest.mark." + "req(ID)", "test_it.py"))


def test_the_account_names_what_is_unproven_and_what_is_unknown() -> None:
    account = Account(
        {"A-1": Requirement("A-1", "x", State.BUILT), "A-2": Requirement("A-2", "x", State.PLANNED)},
        {"Z-9": [Claim("Z-9", "tests/test_it.py:1")]},
    )

    assert account.unproven == [account.requirements["A-1"]]
    assert account.unknown == [Claim("Z-9", "tests/test_it.py:1")]
    assert "unknown: Z-9 at tests/test_it.py:1" in list(lines(account))
