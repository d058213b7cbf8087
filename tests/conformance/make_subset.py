"""`make subset`: run OPA's own cases, and write what the embedded engine can do (CON-3)."""

import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case_judging import JudgedCase, judge  # noqa: E402 - found through the path above
from declared_subset import derived, missing_builtins, written  # noqa: E402 - as above
from interlock_gateway.policy.checks.builtin_list import SUBSET  # noqa: E402 - as above
from opa_cases import builtin_declarations, load_cases, module_directory  # noqa: E402 - as above
from subset_document import DOCUMENT, with_figures  # noqa: E402 - as above


def subset_of_run(go: Path, opa: Path) -> tuple[dict[str, Any], tuple[JudgedCase, ...]]:
    """What a run of all cases says, and the cases it ran."""
    module = module_directory(go)
    declarations = builtin_declarations(module)
    judged = tuple(judge(load_cases(module), opa))
    return derived(judged, declarations, missing_builtins(declarations)), judged


def main() -> int:
    """Write the file; the exit code."""
    go, opa = shutil.which("go"), shutil.which("opa")
    if go is None or opa is None:
        sys.stderr.write("this takes Go, for OPA's cases, and OPA (make tools)\n")
        return 2
    subset, _ = subset_of_run(Path(go), Path(opa))
    SUBSET.write_text(written(subset), encoding="utf-8")
    DOCUMENT.write_text(with_figures(DOCUMENT.read_text(encoding="utf-8"), subset), encoding="utf-8")
    sys.stdout.write("".join(f"{name}: {count}\n" for name, count in subset["cases"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
