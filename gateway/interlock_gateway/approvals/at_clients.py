"""People who sit at the client of an agent and are asked there, because the operator says that they do (CHK-6).

Whoever answers at an agent's client is on the agent's wire: the gateway cannot tell them from the agent. So nobody is
asked there unless the configuration names who sits there; their answers then count as that approver's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from interlock_gateway.approvals.handlers import Handler, Reached
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.core.session import Principal, Role

CHANNEL = "mcp"


@dataclass(frozen=True, slots=True)
class AtClient:
    """Who sits at the client of `agent`, a principal."""

    agent: str
    approver: Principal


def at_client(agent: str, approver: str, groups: tuple[str, ...]) -> AtClient:
    """Whoever the configuration says sits there."""
    return AtClient(agent, Principal(approver, CHANNEL, frozenset({Role.APPROVER}), groups))


class AtClients:
    """Who sits at which agent's client, and at which of them somebody can be asked now (`Reached`)."""

    def __init__(self, people: Iterable[AtClient]) -> None:
        self._people = {one.agent: one.approver for one in people}
        self._present: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._people)

    def of(self, agent: str) -> Principal | None:
        """The approver at the client of the principal `agent`; `None` when the operator named nobody."""
        return self._people.get(agent)

    @contextmanager
    def present(self, agent: str) -> Iterator[None]:
        """While a call of `agent` is under way whose client can ask the person who sits there."""
        self._present[agent] += 1
        try:
            yield
        finally:
            self._present[agent] -= 1
            if not self._present[agent]:
                del self._present[agent]

    def beside(self, others: Iterable[Reached]) -> tuple[Reached, ...]:
        """All the ways to people: this one and `others`."""
        return (self, *others)

    def handlers(self) -> Iterable[Handler]:
        """Those who can be asked now, each about the calls of their own agent."""
        found = ((agent, self._people[agent]) for agent in self._present if agent in self._people)
        return [Handler(approver.id, approver.groups, only_for=agent) for agent, approver in found]

    def ways(self) -> int:
        """At how many clients somebody can be asked now."""
        return sum(agent in self._people for agent in self._present)


def people_of(settings: McpConfig) -> AtClients:
    """Those whom the configuration names."""
    return AtClients(at_client(one.agent, one.approver, one.groups) for one in settings.people)
