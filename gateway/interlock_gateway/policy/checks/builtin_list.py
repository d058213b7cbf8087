"""The declared list of built-in functions that policies may use (ENG-5, CON-3).

`subset.json` is written by `make subset` from a run of OPA's own cases on the embedded engine.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

SUBSET = Path(__file__).with_name("subset.json")


@cache
def allowed_builtins() -> frozenset[str]:
    """The names of the declared functions."""
    return frozenset(name for name, found in _builtins().items() if found["declared"])


def why_refused(name: str) -> str:
    """Why a built-in function is not declared, as words that go behind its name; empty for one that nobody knows."""
    found = _builtins().get(name, {})
    return str(found.get("why", ""))


@cache
def signature(name: str) -> tuple[tuple[frozenset[str] | None, ...], frozenset[str] | None] | None:
    """The kinds of values that a declared function takes, one for each argument, and gives; None stands for any."""
    found = _builtins().get(name)
    if not found or not found["declared"]:
        return None
    return tuple(_kinds(listed) for listed in found["takes"]), _kinds(found["gives"])


def _kinds(listed: list[str]) -> frozenset[str] | None:
    return frozenset(listed) or None


@cache
def _builtins() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(SUBSET.read_text(encoding="utf-8"))["builtins"]
    return found
