"""Generated inputs under generated policies, decided by both engines."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from engines_side_by_side import Comparison, compare, conforming
from input_generator import InputGenerator
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.document import input_schema
from opa_process import running_opa
from setting_variations import variations

CASES = Path(__file__).resolve().parents[1] / "cases"


async def compared(
    opa: Path, inputs: int, seed: int, policies: int, *, on_progress: Callable[[int], None] = lambda _done: None
) -> Comparison:
    """Count `inputs` inputs under `policies` sets of policies, each with a share. The same seed does the same.

    What is set aside is not counted, and more inputs are made in its place.
    """
    cases = load_cases(CASES)
    schema = input_schema()
    generator = InputGenerator(f"inputs {seed}", schema, [case.input_json for case in cases])
    documents = (generator.make() for _ in count())
    comparison = Comparison(conforming(schema))
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as scratch:
        for number, (name, bundle) in enumerate(variations(f"policies {seed}", cases, policies)):
            # A server for each: one that was given a hundred sets of policies compiles them all, every time.
            with running_opa(opa, f"unix:{scratch}/{number}.sock") as server:
                share = min(-(-inputs // policies), inputs - comparison.counted)
                await compare(name, bundle, documents, server.path, comparison, count=share)
            on_progress(comparison.counted)
    return comparison
