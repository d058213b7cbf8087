"""How many calls are in flight, and whose: nobody has all of what there is room for."""

from enum import StrEnum


class Full(StrEnum):
    """Why one more cannot be let in."""

    ALL = "in_flight"
    """There is no room at all."""
    SHARE = "share"
    """What room there is, is for others."""


TIMES = 4


class Shares:
    """Counts what each principal has of `most` places.

    One principal may have `TIMES` as many places as are free: alone four fifths of all, and of many who want all that
    they can get each as much as the others, while a newcomer always finds some.
    """

    __slots__ = ("_by_principal", "count", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self._by_principal: dict[str, int] = {}

    def refusal(self, principal_id: str) -> Full | None:
        """Why the principal cannot have one more place; `None` when it can."""
        free = self.most - self.count
        if free <= 0:
            return Full.ALL
        if self._by_principal.get(principal_id, 0) >= TIMES * free:
            return Full.SHARE
        return None

    def take(self, principal_id: str) -> None:
        """Give the principal one more place, whether there is room or not."""
        self._by_principal[principal_id] = self._by_principal.get(principal_id, 0) + 1
        self.count += 1

    def give_back(self, principal_id: str) -> None:
        """The principal has one place less."""
        self.count -= 1
        left = self._by_principal[principal_id] - 1
        if left:
            self._by_principal[principal_id] = left
        else:
            del self._by_principal[principal_id]
