"""What becomes of OPA's cases: refused at load, passed, or failed."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from opa_cases import OpaCase
from policy_runs import PolicyOutcome, PolicyRequest, run_policies

# The only thing that the gateway asks an engine: the value of one rule.
_RULE = re.compile(r"(?P<rule>data(?:\.[A-Za-z_]\w*)+) = (?P<variable>[A-Za-z_]\w*)")

_MISSING = ("could not find function", "expecting", "unexpected keyword", "invalid character")


class Verdict(Enum):
    """How a case ended.

    STRICT: the embedded engine gives an error where OPA, asked leniently, gives a result; asked as the gateway asks
    it, to end at the first error of a built-in function, OPA gives an error too.
    """

    PASSED = "passed"
    STRICT = "strict"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case, what the checks at load say about it, which functions it calls, and how it ends when it is run."""

    case: OpaCase
    problems: tuple[tuple[str, int, str, str], ...]
    calls: frozenset[str]
    verdict: Verdict
    words: str


def judge(cases: Iterable[OpaCase], opa: Path) -> Iterator[JudgedCase]:
    """Each case, run on the embedded engine whether or not it would be refused."""
    cases = tuple(cases)
    for case, outcome in zip(cases, run_policies(map(_request, cases)), strict=True):
        verdict, words = _verdict(case, outcome)
        may_be_strict = case.lenient and words.startswith("error") and not _is_missing(words)
        if verdict is Verdict.FAILED and may_be_strict and _ends_strictly(opa, case):
            verdict = Verdict.STRICT
        yield JudgedCase(case, outcome.problems, outcome.calls, verdict, words)


def _request(case: OpaCase) -> PolicyRequest:
    plain = _RULE.fullmatch(case.query)
    return PolicyRequest(
        modules={f"case/{number:03}.rego": source for number, source in enumerate(case.modules)},
        rule=plain["rule"] if plain else "",
        inputs=(json.dumps(case.input) if case.has_input else None,),
        data=case.data,
        query=case.query,
        input_term=case.input_term,
        refused_too=True,
        checked_too={} if plain else {"case/query.rego": f"package query\n\nanswer if {{\n{case.query}\n}}\n"},
    )


def _verdict(case: OpaCase, outcome: PolicyOutcome) -> tuple[Verdict, str]:
    (came,) = outcome.outcomes
    if "failed" in came:
        words = f"{came['failed']}: {came['words'].rpartition('error: ')[2]}".strip()
        expected = came["failed"] == "error" and case.wanted is None
        return (Verdict.PASSED if expected else Verdict.FAILED), words
    if case.wanted is None:
        return Verdict.FAILED, "gives a result where OPA has an error"
    plain = _RULE.fullmatch(case.query)
    bindings = [_binding(found, plain["variable"] if plain else "") for found in came["values"]]
    same = _rows(bindings, case) == _rows(case.wanted, case)
    return (Verdict.PASSED, "") if same else (Verdict.FAILED, f"gives {json.dumps(bindings)[:200]}")


def _binding(found: Any, variable: str) -> dict[str, Any]:
    """What a query binds; a rule's value is bound to the variable that the case asks it with."""
    asked = isinstance(found, dict) and found.keys() == {"bindings"}
    binding: dict[str, Any] = found["bindings"] if asked else {variable: found}
    return binding


def _is_missing(words: str) -> bool:
    """Whether the engine lacks something, so that nothing is to be asked of OPA."""
    return any(
        text in words for text in ("could not find function", "expecting", "unexpected keyword", "invalid character")
    )


def _rows(bindings: Iterable[dict[str, Any]], case: OpaCase) -> set[str]:
    rows = set()
    for binding in bindings:
        kept = {
            name: sorted(value, key=_text) if case.sort_bindings and isinstance(value, list) else value
            for name, value in binding.items()
            if not (case.ignore_generated and name.startswith("__localq"))
        }
        rows.add(_text(kept))
    return rows


def _text(value: Any) -> str:
    """A value as text that is the same for the same value: 1 and 1.0 are, 1 and true are not."""
    return json.dumps(_exact(value), sort_keys=True)


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _exact(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _ends_strictly(opa: Path, case: OpaCase) -> bool:
    """Whether OPA gives an error as well when it is asked to end at the first error of a built-in function."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        arguments: list[object] = [opa, "eval", "--strict-builtin-errors", "--format", "json"]
        for number, source in enumerate(case.modules):
            (place / f"{number}.rego").write_text(source, encoding="utf-8")
            arguments += ["--data", place / f"{number}.rego"]
        (place / "data.json").write_text(json.dumps(case.data), encoding="utf-8")
        arguments += ["--data", place / "data.json"]
        if case.has_input:
            (place / "input.json").write_text(json.dumps(case.input), encoding="utf-8")
            arguments += ["--input", place / "input.json"]
        done = subprocess.run([*map(str, arguments), case.query], capture_output=True, text=True, check=False)
    return bool(json.loads(done.stdout).get("errors")) if done.stdout else False
