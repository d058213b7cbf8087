"""The declared list of built-in functions that policies may use (ENG-5)."""

from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("builtins.txt")


@cache
def allowed_builtins() -> frozenset[str]:
    """The names on the list."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))
