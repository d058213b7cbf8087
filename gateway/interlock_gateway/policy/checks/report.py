"""What running tests of policies gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test: `name` is the rule or case, `message` why it failed, empty when it passed."""

    __test__ = False

    file: str
    line: int
    name: str
    message: str = ""

    @property
    def passed(self) -> bool:
        """Whether it did."""
        return not self.message


@dataclass(frozen=True, slots=True)
class TestReport:
    """All results, the last `cases` of them of decision cases, and the lines that no Rego test reached, by file."""

    __test__ = False

    results: tuple[TestResult, ...]
    not_covered: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    covered_lines: int = 0
    cases: int = 0

    @property
    def passed(self) -> bool:
        """Whether every test did."""
        return all(result.passed for result in self.results)

    @property
    def coverage(self) -> float:
        """The share of lines that were reached, 0 to 1."""
        missed = sum(len(lines) for lines in self.not_covered.values())
        total = self.covered_lines + missed
        return self.covered_lines / total if total else 1.0
