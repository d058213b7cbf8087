"""Policies as the engine decides with them: the same rules, in the form in which it evaluates them fastest."""

from functools import lru_cache

from interlock_gateway.policy.bundle import DECISION_RULE
from interlock_gateway.policy.embedded.inlining import inlined
from interlock_gateway.policy.embedded.linking import LinkedModule, link
from interlock_gateway.policy.embedded.short_names import shortened


@lru_cache(maxsize=2)
def prepared(modules: tuple[tuple[str, str], ...], data_json: str) -> tuple[LinkedModule, ...]:
    """What the files `modules`, as path and source, are put into for the engine.

    It takes a tenth of a second for the shipped ones. Raises `PolicySourceError`, as `link` does.
    """
    return inlined(shortened(linked(modules), data_json), data_json, DECISION_RULE)


@lru_cache(maxsize=2)
def linked(modules: tuple[tuple[str, str], ...]) -> tuple[LinkedModule, ...]:
    """The files `modules` as they were written, one module for each package. Raises `PolicySourceError`."""
    return link(modules)
