"""OPA's own test cases, as they lie in OPA's Go module (CON-3).

They are not kept here: the module is found in Go's cache, or fetched into it. Those of Rego version 1 are read, because
the gateway knows no other; version 0 has mostly the same cases in the older syntax.
"""

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

MODULE = "github.com/open-policy-agent/opa"
CASES = Path("v1/test/cases/testdata/v1")
_PINNED = re.compile(r"^OPA_VERSION=(v\S+)$", re.MULTILINE)
INSTALLER = Path(__file__).parents[2] / "tools" / "install_tools"


@dataclass(frozen=True, slots=True)
class OpaCase:
    """One case: what is asked of which modules, and what OPA answers.

    `wanted` are the answer's bindings, or None when an error is wanted. `lenient` is a case in which OPA was not told
    to end at the first error of a built-in function. `input_term` is an input written in Rego.
    """

    name: str
    group: str
    query: str
    modules: tuple[str, ...]
    data: dict[str, Any]
    input: Any
    has_input: bool
    input_term: str | None
    wanted: tuple[dict[str, Any], ...] | None
    lenient: bool
    sort_bindings: bool
    ignore_generated: bool


class _Yaml(yaml.CSafeLoader):
    """As OPA reads it: times stay text, and `on` and `no` are words."""


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in {"timestamp", "bool"}]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|false"), list("tf"))


def opa_version() -> str:
    """The version of OPA that the tools are installed in."""
    found = _PINNED.search(INSTALLER.read_text(encoding="utf-8"))
    assert found is not None, f"{INSTALLER} names no OPA_VERSION"
    return found[1]


@cache
def module_directory(go: Path) -> Path:
    """Where OPA's Go module lies; fetched when it is not there yet. Raises `RuntimeError` with Go's words."""
    wanted = f"{MODULE}@{opa_version()}"
    done = subprocess.run([go, "mod", "download", "-json", wanted], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Go cannot fetch {wanted}: {done.stdout}{done.stderr}")
    return Path(json.loads(done.stdout)["Dir"])


def builtin_declarations(module: Path) -> dict[str, dict[str, Any]]:
    """OPA's built-in functions by name, as it declares them; operators left out."""
    listed = json.loads((module / "capabilities.json").read_text(encoding="utf-8"))["builtins"]
    return {entry["name"]: entry for entry in listed if "infix" not in entry}


def load_cases(module: Path) -> tuple[OpaCase, ...]:
    """Every case, sorted by name; names are unique."""
    directory = module / CASES
    seen: Counter[str] = Counter()
    found: list[OpaCase] = []
    for path in sorted(directory.rglob("*.yaml")):
        group = path.relative_to(directory).parts[0]
        for written in yaml.load(path.read_text(encoding="utf-8"), Loader=_Yaml)["cases"]:
            note = written["note"]
            seen[note] += 1
            found.append(_case(note if seen[note] == 1 else f"{note} ({seen[note]})", group, written))
    return tuple(sorted(found, key=lambda case: case.name))


def _case(name: str, group: str, written: dict[str, Any]) -> OpaCase:
    wants_error = "want_error" in written or "want_error_code" in written
    return OpaCase(
        name=name,
        group=group,
        query=written["query"],
        modules=tuple(written.get("modules") or ()),
        data=written.get("data") or {},
        input=written.get("input"),
        has_input="input" in written,
        input_term=written.get("input_term"),
        wanted=None if wants_error else tuple(written["want_result"]),
        lenient=not written.get("strict_error", False),
        sort_bindings=bool(written.get("sort_bindings")),
        ignore_generated=bool(written.get("ignore_generated_vars")),
    )
