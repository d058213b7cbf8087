"""The part of docs/policies.md that says which built-in functions may be used, from the subset file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "docs" / "policies.md"
BEGIN, END = "<!-- written by `make subset` -->", "<!-- end -->"


def with_figures(text: str, subset: Mapping[str, Any]) -> str:
    """The document with the part between the marks made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_figures(subset)}\n{END}{after}"


def _figures(subset: Mapping[str, Any]) -> str:
    cases, builtins = subset["cases"], subset["builtins"]
    declared = [name for name, found in builtins.items() if found["declared"]]
    strictly = cases["passed_as_opa_asked_strictly"]
    run = f"Of {cases['all']:,} cases of OPA {subset['opa']}, {cases['refused_at_load']:,} are refused at load and"
    passed = f"{cases['passed']:,} of {cases['in_the_subset']:,} others pass, {strictly} of them because OPA, asked as"
    left_out = (
        f"the gateway asks it, ends in an error too; {cases['left_out']} is left out, because its input is no JSON."
    )
    lines = [
        f"{run} {passed}",
        f"{left_out} {len(declared)} of {len(builtins)} built-in functions are declared:",
        "",
        ", ".join(f"`{name}`" for name in declared) + ".",
        "",
        "Some that one might miss:",
        "",
        "| function | why it may not be used |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {found['why']} |" for name, found in builtins.items() if _is_missed(found)]
    return "\n".join(lines)


def _is_missed(found: Mapping[str, Any]) -> bool:
    why = found.get("why", "")
    return not found["declared"] and found["asked"] > 0 and not why.startswith(("fails in", "is not in"))
