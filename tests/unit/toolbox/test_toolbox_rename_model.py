"""A batch of renames, held to a model: whatever fails or is killed in it, all of it happened or nothing (BOX-8)."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock.toolbox.errors import OperationError, StorageError
from interlock.toolbox.operations import Files, Operations, Vault
from interlock.toolbox.renaming import HIDDEN, Renaming
from toolbox_workplaces import Workplace, local_workplace, memory_workplace

NAMES = ["a", "b", "c", "d/a", "d/b", "e/a"]
FREE = ["x", "y", "d/x", "e/x"]


class Killed(BaseException):
    """The process is no more: nothing it still tries has any effect."""


class Failing:
    """Stands before files or a vault; the chosen one of the steps that change something fails, before or after it."""

    def __init__(self, inner: Any, faults: "Faults") -> None:
        self._inner = inner
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._faults.around(found) if name in ("rename", "save") else found


class Faults:
    """Counts steps, and fails at one. A process that was killed takes no further step."""

    def __init__(self, at: int, *, after: bool, kill: bool) -> None:
        self.at, self.after, self.kill = at, after, kill
        self.steps = 0
        self.dead = False

    def around(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def taken(*given: Any) -> Any:
            if self.dead:
                raise Killed
            self.steps += 1
            if self.steps != self.at:
                return step(*given)
            if self.after:
                step(*given)
            self.dead = self.kill
            raise Killed if self.kill else StorageError("the disk", "no space is left")

        return taken


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Renames that go together: some names change places, others go to free ones."""
    old = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    new = draw(st.permutations([*old, *FREE]))[: len(old)]
    return [(one, other) for one, other in zip(old, new, strict=True) if one != other]


def tree(workplace: Workplace) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for directory in ("", "d", "e"):
        for entry in workplace.files.entries(workplace.at(directory or ".")):
            path = f"{directory}/{entry.name}".lstrip("/")
            if entry.kind == "file":
                found[path] = workplace.content(path)
    return found


def check(workplace: Workplace, batch: list[tuple[str, str]], faults: Faults) -> None:
    for name in NAMES:
        workplace.put(name, name.encode())
    before = tree(workplace)
    old = {path for path, _ in batch}
    after = {path: body for path, body in before.items() if path not in old}
    after |= {new: before[path] for path, new in batch}
    plan = Renaming(workplace.operations).plan([(workplace.at(path), workplace.at(new)) for path, new in batch])

    operations = workplace.operations
    files = cast("Files", Failing(operations.files, faults))
    vault = cast("Vault", Failing(operations.vault, faults))
    failing: Operations = replace(operations, files=files, vault=vault)
    try:
        Renaming(failing).apply(plan.record_id)
        answered = True
    except (OperationError, Killed):
        answered = False

    if faults.kill:
        Renaming(operations).recover()
    now = tree(workplace)
    assert now == after if answered else now in (before, after)
    assert not [path for path in now if HIDDEN in path]
    # Whatever happened, asking again does all of it, once.
    done = Renaming(operations).apply(plan.record_id)
    assert tree(workplace) == after
    Renaming(operations).restore(operations.vault.load(done.record_id))
    assert tree(workplace) == before


FAULTS = st.builds(Faults, st.integers(1, 20), after=st.booleans(), kill=st.booleans())


@pytest.mark.req("BOX-8", "REL-6")
@settings(max_examples=300, deadline=None)
@given(batch=batches().filter(bool), faults=FAULTS)
def test_any_batch_in_memory_happens_as_a_whole_or_not_at_all(batch: list[tuple[str, str]], faults: Faults) -> None:
    check(memory_workplace(), batch, faults)


@pytest.mark.req("BOX-8", "REL-6")
@settings(max_examples=40, deadline=None)
@given(batch=batches().filter(bool), faults=FAULTS)
def test_any_batch_on_this_machine_happens_as_a_whole_or_not_at_all(
    batch: list[tuple[str, str]], faults: Faults
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        check(local_workplace(Path(directory)), batch, faults)


@pytest.mark.req("BOX-8")
def test_a_recovery_that_is_killed_itself_is_gone_on_with() -> None:
    batch = [("a", "b"), ("b", "a"), ("c", "x")]
    for first in range(1, 14):
        for second in range(1, 10):
            workplace = memory_workplace()
            for name in NAMES:
                workplace.put(name, name.encode())
            before = tree(workplace)
            pairs = [(workplace.at(path), workplace.at(new)) for path, new in batch]
            plan = Renaming(workplace.operations).plan(pairs)
            for at, work in ((first, "apply"), (second, "recover")):
                faults = Faults(at, after=True, kill=True)
                operations = workplace.operations
                files = cast("Files", Failing(operations.files, faults))
                vault = cast("Vault", Failing(operations.vault, faults))
                failing = Renaming(replace(operations, files=files, vault=vault))
                try:
                    failing.apply(plan.record_id) if work == "apply" else failing.recover()
                except Killed:
                    continue
            Renaming(workplace.operations).recover()
            now = tree(workplace)
            assert now == before or (now["x"], now["a"], now["b"]) == (b"c", b"b", b"a")
            assert not [path for path in now if HIDDEN in path]
