"""How many calls a principal made lately, in sliding windows (policy.md, Input: `principal.recent`).

A window is counted in parts, and reaches from now back over at least its whole length and at most one part more: it may
count a call a little too long, and never one too few.
"""

import json
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, cast

PARTS = 30
"""How many parts a window has, besides the one that is under way."""
WIDTHS = (2, 120, 2880)
"""Seconds of one part of the windows of a minute, an hour and a day."""
LONGEST_S = WIDTHS[-1] * (PARTS + 1)
"""After so many seconds a call is in no window any more."""
MAX_TOOLS = 1000
"""How many tools of one principal are counted apart; those beyond share one count, which is never below their own."""
REST = ""
_VERSION = 1
_Parts = tuple[int, int, int]
_SMALL_STEP_S = 60


Counts = tuple[int, int, int]
"""Calls within the last minute, hour and day. A plain tuple, because a dozen are made for each call."""
NONE: Counts = (0, 0, 0)


class Recent(NamedTuple):
    """What policy sees of a principal's calls: of the tool that is called, of all, of destructive ones."""

    tool: Counts = NONE
    all: Counts = NONE
    destructive: Counts = NONE

    @property
    def json(self) -> str:
        """As an object of the policy input."""
        (a, b, c), (d, e, f), (g, h, i) = self
        return (
            f'{{"tool":{{"minute":{a},"hour":{b},"day":{c}}},"all":{{"minute":{d},"hour":{e},"day":{f}}},'
            f'"destructive":{{"minute":{g},"hour":{h},"day":{i}}}}}'
        )


class Counted(NamedTuple):
    """One call that was counted: how to take that back. `parts` are those of the windows that it was counted in."""

    calls: "PrincipalCalls"
    tool: str
    parts: _Parts
    destructive: bool


class _Window:
    """One window: parts with calls, oldest first, each its number and how many calls."""

    __slots__ = ("parts", "total")

    def __init__(self, parts: Iterable[list[int]] = ()) -> None:
        self.parts = deque(parts)
        self.total = sum(count for _, count in self.parts)

    def at(self, part: int) -> int:
        parts = self.parts
        oldest = part - PARTS
        while parts and parts[0][0] < oldest:
            self.total -= parts.popleft()[1]
        return self.total

    def add(self, part: int, count: int) -> None:
        self.total += count
        if self.parts and self.parts[-1][0] == part:
            self.parts[-1][1] += count
        else:
            self.parts.append([part, count])

    def take_back(self, part: int) -> None:
        for entry in reversed(self.parts):
            if entry[0] == part and entry[1] > 0:
                entry[1] -= 1
                self.total -= 1
                return

    def shift(self, by: int) -> None:
        for entry in self.parts:
            entry[0] -= by


class _Subject:
    """What is counted together, in all windows: one tool, all tools, the destructive ones.

    `added` are the calls of the parts under way, which are not in the windows yet: most calls only change that.
    """

    __slots__ = ("_added", "_before", "_parts", "_windows")

    def __init__(self, windows: Iterable[_Window] | None = None) -> None:
        self._windows = tuple(windows) if windows is not None else (_Window(), _Window(), _Window())
        self._parts: _Parts = (0, 0, 0)
        self._before = NONE
        self._added = 0

    def at(self, parts: _Parts) -> Counts:
        if parts is not self._parts:
            self._go_on(parts)
        added = self._added
        minute, hour, day = self._before
        return (minute + added, hour + added, day + added) if added else self._before

    def add(self, parts: _Parts) -> None:
        if parts is not self._parts:
            self._go_on(parts)
        self._added += 1

    def take_back(self, parts: _Parts) -> None:
        if parts is self._parts and self._added:
            self._added -= 1
            return
        self._settle()
        for window, part in zip(self._windows, parts, strict=True):
            window.take_back(part)
        self._go_on(self._parts)

    def shift(self, before: _Parts, after: _Parts) -> None:
        self._settle()
        for window, one, other in zip(self._windows, before, after, strict=True):
            window.shift(one - other)

    def document(self) -> list[list[list[int]]]:
        self._settle()
        self._go_on(self._parts)
        return [list(window.parts) for window in self._windows]

    def _settle(self) -> None:
        if self._added:
            for window, part in zip(self._windows, self._parts, strict=True):
                window.add(part, self._added)
            self._added = 0

    def _go_on(self, parts: _Parts) -> None:
        self._settle()
        minute, hour, day = self._windows
        self._before = minute.at(parts[0]), hour.at(parts[1]), day.at(parts[2])
        self._parts = parts


class PrincipalCalls:
    """The calls of one principal that one replica counted. Times are Unix seconds.

    Time that goes back takes every count with it: a call stays counted for as long as it was to be, and none is
    forgotten before.
    """

    __slots__ = ("_all", "_destructive", "_latest", "_parts", "_tools")

    def __init__(self) -> None:
        self._all = _Subject()
        self._destructive = _Subject()
        self._tools: dict[str, _Subject] = {}
        self._latest = 0
        self._parts: _Parts = (0, 0, 0)

    def seen(self, tool: str, now: float) -> Recent:
        """How many calls are in the windows that end now."""
        parts = self._parts if int(now) == self._latest else self._moved(int(now))
        of_tool = self._tools.get(tool)
        counts = of_tool.at(parts) if of_tool is not None else NONE
        if REST in self._tools:
            # It may have been counted there, too, before there was room for it.
            counts = _sum((counts, self._tools[REST].at(parts)))
        return Recent(counts, self._all.at(parts), self._destructive.at(parts))

    def count(self, tool: str, now: float, *, destructive: bool) -> Counted:
        """Count one call of `tool`."""
        parts = self._parts if int(now) == self._latest else self._moved(int(now))
        of_tool = self._tools.get(tool)
        if of_tool is None:
            tool, of_tool = self._room_for(tool)
        of_tool.add(parts)
        self._all.add(parts)
        if destructive:
            self._destructive.add(parts)
        return Counted(self, tool, parts, destructive)

    def take_back(self, counted: Counted, *, destructive_only: bool = False) -> None:
        """Let a call that was counted not have been, or not have been destructive."""
        if counted.destructive:
            self._destructive.take_back(counted.parts)
        if not destructive_only:
            self._all.take_back(counted.parts)
            if (of_tool := self._tools.get(counted.tool)) is not None:
                of_tool.take_back(counted.parts)

    def to_json(self) -> bytes:
        """All of it, for keeping. Tools that were not called for a day are forgotten."""
        for tool in [tool for tool, subject in self._tools.items() if subject.at(self._parts)[-1] == 0]:
            del self._tools[tool]
        document = {
            "version": _VERSION,
            "latest": self._latest,
            "all": self._all.document(),
            "destructive": self._destructive.document(),
            "tools": {tool: subject.document() for tool, subject in self._tools.items()},
        }
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> "PrincipalCalls":
        """What `to_json` wrote. Raises `ValueError` for anything else."""
        kept = cast("dict[str, object]", json.loads(raw))
        if kept.get("version") != _VERSION:
            raise ValueError("a principal's calls are of an unknown version")
        calls = cls()
        calls._latest = cast("int", kept["latest"])
        calls._parts = _parts_at(calls._latest)
        calls._all = _subject(kept["all"])
        calls._destructive = _subject(kept["destructive"])
        tools = cast("dict[str, object]", kept["tools"])
        calls._tools = {tool: _subject(windows) for tool, windows in tools.items()}
        return calls

    def _moved(self, second: int) -> _Parts:
        if self._latest - _SMALL_STEP_S <= second < self._latest:
            return self._parts
        parts = _parts_at(second)
        if second < self._latest:
            for subject in (self._all, self._destructive, *self._tools.values()):
                subject.shift(self._parts, parts)
        self._latest, self._parts = second, parts
        return parts

    def _room_for(self, tool: str) -> tuple[str, _Subject]:
        if len(self._tools) >= MAX_TOOLS:
            tool = REST
        return tool, self._tools.setdefault(tool, _Subject())


def _parts_at(second: int) -> _Parts:
    return second // 2, second // 120, second // 2880


def _subject(windows: object) -> _Subject:
    return _Subject(_Window(parts) for parts in cast("list[list[list[int]]]", windows))


def summed(parts: Iterable[Recent]) -> Recent:
    """What several replicas counted, together."""
    tools, alls, destructive = zip(*parts, strict=True)
    return Recent(_sum(tools), _sum(alls), _sum(destructive))


def without(recent: Recent, at: float, now: float, *, destructive: bool) -> Recent:
    """`recent` without one call that was counted at `at`, as far as it is still in the windows."""
    counted, ends = _parts_at(int(at)), _parts_at(int(now))
    minute, hour, day = (int(part >= end - PARTS) for part, end in zip(counted, ends, strict=True))
    one = minute, hour, day
    tool, everything, destroyed = recent
    return Recent(_less(tool, one), _less(everything, one), _less(destroyed, one) if destructive else destroyed)


def _sum(counts: Iterable[Counts]) -> Counts:
    minutes, hours, days = zip(*counts, strict=True)
    return sum(minutes), sum(hours), sum(days)


def _less(counts: Counts, one: Counts) -> Counts:
    minute, hour, day = (max(0, count - gone) for count, gone in zip(counts, one, strict=True))
    return minute, hour, day
