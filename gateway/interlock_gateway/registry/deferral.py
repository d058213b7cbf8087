"""Which tools a session is not shown until it asks for them (DEFER-1): many tools would fill a model's context."""

from collections import Counter
from collections.abc import Iterable

from interlock_gateway.core.session import DEFAULT_DEFERRED_THRESHOLD, Session, circle_of
from interlock_gateway.pipeline.resolve_tool import visible
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry

_LISTS_COUNTED = 1000


class Deferral:
    """Says which tools are deferred for a session.

    `threshold` is how many tools a session may see before the others are deferred; 0 or less means the default.
    `always_loaded` are names or aliases that never are. What counts are providers' tools, of which the session's own
    list leaves some out first (TOOL-10); those of a provider that is away for the moment count, so that a lost
    connection changes nobody's list. Tools that are there for others alone do not, and neither do the gateway's own,
    which are never deferred, nor is what passes on what a provider has besides tools.
    """

    def __init__(self, registry: ToolRegistry, threshold: int, always_loaded: Iterable[str]) -> None:
        self._registry = registry
        self._threshold = threshold if threshold > 0 else DEFAULT_DEFERRED_THRESHOLD
        self._always_loaded = frozenset(always_loaded)
        self._generation = -1
        self._counts: Counter[str] = Counter()
        self._count_of: dict[tuple[str, tuple[str, ...]], int] = {}

    def threshold_of(self, session: Session) -> int:
        """The number of tools above which the session's others are deferred."""
        return session.deferred_threshold or self._threshold

    def hides(self, session: Session, tool: RegisteredTool) -> bool:
        """Whether `tool`, which the session may see, is deferred and not active in it."""
        if self._generation != self._registry.generation:
            self._count_again()
        if tool.provider == GATEWAY_PROVIDER or tool.passed or not self._in_force(session):
            return False
        return not self._is_loaded(session, tool)

    def hidden(self, session: Session) -> tuple[RegisteredTool, ...]:
        """The tools that are deferred and not active in the session, in no promised order."""
        return tuple(tool for tool in self._registry.tools() if visible(tool, session) and self.hides(session, tool))

    def _in_force(self, session: Session) -> bool:
        circle = circle_of(session.owner)
        if not session.tools:
            return self._counts[""] + self._counts[circle] > self.threshold_of(session)
        count = self._count_of.get((circle, session.tools))
        if count is None:
            if len(self._count_of) >= _LISTS_COUNTED:
                self._count_of.clear()
            count = sum(visible(tool, session) for tool in self._registry.all_tools())
            self._count_of[circle, session.tools] = count
        return count > self.threshold_of(session)

    def _is_loaded(self, session: Session, tool: RegisteredTool) -> bool:
        if tool.name in session.activated:
            return True
        names = (tool.name, *tool.definition.aliases)
        return any(name in self._always_loaded or name in session.always_loaded for name in names)

    def _count_again(self) -> None:
        self._generation = self._registry.generation
        self._counts = Counter(tool.only_for for tool in self._registry.all_tools())
        self._count_of.clear()
