"""The policies under which inputs are decided: every profile, what decision cases have, and settings made up."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import DecisionCase, by_conditions
from interlock_gateway.policy.loader import read_bundle
from interlock_gateway.policy.settings import PolicySourceError

PROFILES = ("observe", "standard", "strict")
_WORDS = ("tool", "echo", "agent", "agent-1", "production", "prod", "main", "x", "read_only", "destructive", "bash")
_VERDICTS = ("allow", "preview", "checkpoint", "reflect", "deny")


def variations(seed: str, cases: tuple[DecisionCase, ...], count: int) -> Iterator[tuple[str, PolicyBundle]]:
    """`count` bundles with a name for each: profiles first, then those of the cases, then what is made up."""
    chance = random.Random(seed)
    made = 0
    for profile in PROFILES[:count]:
        yield profile, read_bundle(profile=profile)
        made += 1
    conditions = [conditions for conditions, _ in by_conditions(cases)]
    chance.shuffle(conditions)
    for one in conditions[: max(0, (count - made) // 2)]:
        yield f"as a case says: {json.dumps(one)}", read_bundle(**one)
        made += 1
    while made < count:
        profile = chance.choice(PROFILES)
        changes = _changes(read_bundle(profile=profile), chance)
        try:
            yield f"{profile}, with {json.dumps(changes)}", read_bundle(profile=profile, changes=changes)
        except PolicySourceError:
            continue
        made += 1


def _changes(bundle: PolicyBundle, chance: random.Random) -> dict[str, Any]:
    settings = json.loads(bundle.data_json)["interlock"]["settings"]
    changes: dict[str, Any] = {}
    for _ in range(chance.randint(1, 6)):
        concern = chance.choice(sorted(settings))
        name = chance.choice(sorted(settings[concern]))
        changes.setdefault(concern, {})[name] = _another(settings[concern][name], chance)
    return changes


def _another(value: Any, chance: random.Random) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return chance.choice((0, 1, 5, 50, 100, 10_000))
    if isinstance(value, str):
        return chance.choice((*_VERDICTS, *_WORDS, value))
    if isinstance(value, list):
        kept = [copy.deepcopy(item) for item in value if chance.random() < 0.7]
        return [*kept, chance.choice(_WORDS)] if all(isinstance(item, str) for item in value) else kept
    if isinstance(value, dict):
        return _another_mapping(value, chance)
    return value


def _another_mapping(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    changed: dict[str, Any] = {name: None for name in value if chance.random() < 0.1}
    if value and chance.random() < 0.7:
        like = copy.deepcopy(value[chance.choice(sorted(value))])
        changed[chance.choice(_WORDS)] = like
    if value:
        name = chance.choice(sorted(value))
        changed[name] = _another(value[name], chance)
    return changed
