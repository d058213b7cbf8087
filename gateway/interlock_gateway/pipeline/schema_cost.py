"""What checking an input against a schema takes at most, told from the schema alone (PIPE-4, REL-7; decision 0131).

Each value of an input is looked at once for each way through the schema that leads to it. Where a schema goes into
itself only as the input does, there are no more ways for a value deep inside than for one further out; where it goes
there by two ways at once, each level doubles them. What no bound is found for is not checked on the event loop.

No credit is given for what a validator remembers, or leaves out once it knows: it is an upper bound.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.pipeline.schema_graph import MAX_NODES, Part, UnclearSchemaError, graph_of

MAX_STEPS = 10_000
"""A schema that takes more for one value has none: with this many, a bound for small inputs is of no use."""
MAX_HEIGHT = 64
"""How many parts may say something of one value, one because of the other: each is a frame on the validator's stack,
and an input may nest 64 levels. The stack ends beyond some hundred thousand, and the process with it."""
_SWEEPS = 12
_WORK = 10 * MAX_NODES
"""How much is added up at most; it takes some tens of milliseconds."""
_GROWS = "may take time that grows with every level of an input"
_Key = TypeVar("_Key", str, int)


class Cost(NamedTuple):
    """At most so many steps for each value of an input, and so many patterns for each of its texts.

    A step takes about 100 ns. `patterns` is how many of them are compiled.
    """

    steps: int
    held_against: int
    patterns: int


def cost_of(schema: FrozenJsonObject) -> Cost:
    """What a schema takes. Raises `UnclearSchemaError` when no bound is found, or none that is of use."""
    parts = graph_of(schema)
    order = _inner_first(parts)
    steps = _most(parts, order, lambda part: part.own, MAX_STEPS)
    patterns = sum(part.patterns for part in parts)
    held = _most(parts, order, lambda part: part.patterns, MAX_STEPS) if patterns else 0
    return Cost(steps, held, patterns)


@dataclass(slots=True)
class _Ways:
    """What one part takes by all that it brings in: for the value itself, and for those directly inside.

    `most` is the largest for any value at all; `members` and `items` are complete sums for those names and numbers,
    `other_members` and `other_items` for all others.
    """

    itself: int = 0
    height: int = 0
    most: int = 0
    names: int = 0
    members: dict[str, int] = field(default_factory=dict)
    other_members: int = 0
    items: dict[int, int] = field(default_factory=dict)
    other_items: int = 0

    def inside(self) -> Iterator[int]:
        """What is taken for each kind of value inside."""
        yield self.names
        yield self.other_members
        yield self.other_items
        yield from self.members.values()
        yield from self.items.values()


def _most(parts: list[Part], order: list[int], own: Callable[[Part], int], bound: int) -> int:
    """The most that any value takes when each part takes its `own`: the least solution, found from below."""
    ways = [_Ways() for _ in parts]
    work = 0
    for _ in range(_SWEEPS):
        changed = False
        for number in order:
            found = _summed(parts[number], ways, own(parts[number]))
            work += 1 + len(found.members) + len(found.items)
            changed = changed or found != ways[number]
            ways[number] = found
            if found.most > bound or found.height > MAX_HEIGHT:
                raise UnclearSchemaError(_GROWS)
            if work > _WORK:
                raise UnclearSchemaError("combines too much to be looked through")
        if not changed:
            return ways[0].most
    raise UnclearSchemaError(_GROWS)


def _summed(part: Part, ways: list[_Ways], own: int) -> _Ways:
    """What a part takes, as far as is known of those that it leads to."""
    any_member = sum(ways[one].most for one in part.any_member)
    any_item = sum(ways[one].most for one in part.any_item)
    found = _Ways(
        itself=own,
        height=1 + max((ways[one].height for one in part.here), default=0),
        names=sum(ways[one].most for one in part.names),
        members={name: ways[one].most + any_member for name, one in part.members.items()},
        other_members=any_member + sum(ways[one].most for one in part.other_members),
        items={at: ways[one].most + any_item for at, one in part.items.items()},
        other_items=any_item,
    )
    for one in part.here:
        _add(found, ways[one])
    if part.again:
        # It finds out what the others looked at by asking them again, those further in at each level.
        found = _times(found, found.height + 2)
    found.most = max(found.itself, *found.inside())
    return found


def _add(found: _Ways, more: _Ways) -> None:
    found.itself += more.itself
    found.names += more.names
    found.members = _both(found.members, found.other_members, more.members, more.other_members)
    found.items = _both(found.items, found.other_items, more.items, more.other_items)
    found.other_members += more.other_members
    found.other_items += more.other_items


def _both(some: dict[_Key, int], else_some: int, more: dict[_Key, int], else_more: int) -> dict[_Key, int]:
    return {key: some.get(key, else_some) + more.get(key, else_more) for key in some | more}


def _times(found: _Ways, factor: int) -> _Ways:
    return _Ways(
        itself=found.itself * factor,
        height=found.height,
        names=found.names * factor,
        members={name: one * factor for name, one in found.members.items()},
        other_members=found.other_members * factor,
        items={at: one * factor for at, one in found.items.items()},
        other_items=found.other_items * factor,
    )


def _inner_first(parts: list[Part]) -> list[int]:
    """The parts in an order in which most of those that one leads to come before it."""
    order: list[int] = []
    seen = {0}
    open_parts = [(0, parts[0].targets())]
    while open_parts:
        number, targets = open_parts[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                open_parts.append((target, parts[target].targets()))
                break
        else:
            open_parts.pop()
            order.append(number)
    return order
