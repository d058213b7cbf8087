"""The repository as its tests see it: which files are ours, and what they import."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("sdk/interlock/v1/", "gateway/interlock_gateway/transport/extmcp/stubs/")


@cache
def tracked_files() -> tuple[str, ...]:
    """Return the paths that git tracks and that are there, relative to the root, sorted."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(sorted(path for path in listed.split("\0") if path and (ROOT / path).is_file()))


def our_python(*folders: str) -> list[str]:
    """Return the Python files we wrote under the given folders (all of them when none is given)."""
    return [
        path
        for path in tracked_files()
        if path.endswith(".py") and not path.startswith(GENERATED) and (not folders or path.startswith(folders))
    ]


def our_documents() -> list[str]:
    """Return the Markdown files."""
    return [path for path in tracked_files() if path.endswith(".md")]


def text_of(path: str) -> str:
    """Return what a tracked text file says."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree_of(path: str) -> ast.Module:
    """Return a Python file's syntax tree."""
    return ast.parse(text_of(path), filename=path)


def module_name(path: str) -> str:
    """Return the dotted name under which a file of one of the two distributions is imported."""
    return path.split("/", 1)[1].removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imported_modules(path: str) -> tuple[str, ...]:
    """Return the dotted name of everything a file imports, wherever in it the import stands."""
    return tuple(_imported_modules(tree_of(path)))


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
