"""Which requirement of ``docs/requirements.md`` is claimed by which tests; run as a script it prints the account."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "requirements.md"
TESTS = ROOT / "tests"
ROW = re.compile(r"^\| (?P<id>[A-Z0-9]+-\d+) \| (?P<what>[^|]+) \| (?P<state>[^|]+) \|$", re.MULTILINE)


class State(StrEnum):
    """Whether a requirement is met now."""

    BUILT = "built"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of the document."""

    id: str
    what: str
    state: State


@dataclass(frozen=True, slots=True)
class Claim:
    """One test, or group of tests, that says it checks a requirement."""

    id: str
    place: str


@dataclass(frozen=True, slots=True)
class Account:
    """What is required, beside what tests claim to check."""

    requirements: dict[str, Requirement]
    claims: dict[str, list[Claim]]

    @property
    def unknown(self) -> list[Claim]:
        """Claims of ids that no requirement has."""
        return [claim for id_, claims in self.claims.items() if id_ not in self.requirements for claim in claims]

    @property
    def unproven(self) -> list[Requirement]:
        """Requirements that are said to be met, and that no test claims."""
        return [one for one in self.requirements.values() if one.state is State.BUILT and one.id not in self.claims]


def read_account() -> Account:
    """Return the account of this repository; raises ValueError when the document or a claim cannot be read."""
    claims = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for claim in claims_in(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()):
            claims[claim.id].append(claim)
    return Account(read_requirements(DOCUMENT.read_text(encoding="utf-8")), dict(claims))


def read_requirements(document: str) -> dict[str, Requirement]:
    """Return the requirements by id, in the document's order; ValueError for one listed twice or in a strange state."""
    found: dict[str, Requirement] = {}
    for row in ROW.finditer(document):
        requirement = Requirement(row["id"], row["what"], State(row["state"]))
        if requirement.id in found:
            raise ValueError(f"{requirement.id} is listed twice")
        found[requirement.id] = requirement
    return found


def claims_in(source: str, path: str) -> Iterator[Claim]:
    """Give the claims made in a test file; raises ValueError for one whose ids are not written out as strings."""
    for node in ast.walk(ast.parse(source, filename=path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.mark.req", "mark.req"}:
            place = f"{path}:{node.lineno}"
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"{place} claims a requirement whose id is not written out")  # noqa: TRY004 - of text
                yield Claim(argument.value, place)


def lines(account: Account) -> Iterator[str]:
    """Give the account as lines of text, in the document's order, with what is wrong at the end."""
    for requirement in account.requirements.values():
        claims = account.claims.get(requirement.id, [])
        proof = ", ".join(claim.place for claim in claims) or "no test"
        yield f"{requirement.id:9} {requirement.state:8} {proof}"
    built = [one for one in account.requirements.values() if one.state is State.BUILT]
    yield ""
    yield f"{len(account.requirements)} requirements, {len(built)} built, {len(account.unproven)} without a test"
    if account.unproven:
        yield "built, and claimed by no test: " + ", ".join(requirement.id for requirement in account.unproven)
    for claim in account.unknown:
        yield f"unknown: {claim.id} at {claim.place}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines(read_account()))
