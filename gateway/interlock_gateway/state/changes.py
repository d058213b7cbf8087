"""Who is told of changes: listeners in this process, called on the event loop after a commit (STATE-1)."""

from collections.abc import Callable, Iterable

from interlock_gateway.core.change import Change, Listener


class LocalChanges:
    """`ChangeFeed` of one process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every change from now on, until the returned function is called."""
        ticket = object()
        self._listeners[ticket] = listener
        return lambda: self._forget(ticket)

    def publish(self, changes: Iterable[Change]) -> None:
        """Tell everybody; called on the event loop, after the commit."""
        for change in dict.fromkeys(changes):
            for listener in tuple(self._listeners.values()):
                listener(change)

    def _forget(self, ticket: object) -> None:
        self._listeners.pop(ticket, None)
