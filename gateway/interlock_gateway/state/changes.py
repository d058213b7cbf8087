"""Who is told of changes: listeners in this process, called on the event loop (STATE-1)."""

from collections.abc import Callable, Iterable

from interlock_gateway.core.change import Change, Listener


class LocalChanges:
    """`ChangeFeed` of one process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}
        self._listeners_elsewhere: dict[object, Listener] = {}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every change from now on, until the returned function is called."""
        return _kept(self._listeners, listener)

    def subscribe_elsewhere(self, listener: Listener) -> Callable[[], None]:
        """The same, with what other replicas have changed alone."""
        return _kept(self._listeners_elsewhere, listener)

    def publish(self, changes: Iterable[Change]) -> None:
        """Tell of this replica's own changes; called on the event loop, after the commit."""
        for change in dict.fromkeys(changes):
            _tell(self._listeners, change)

    def publish_elsewhere(self, changes: Iterable[Change]) -> None:
        """Tell of what other replicas have changed, or may have."""
        for change in dict.fromkeys(changes):
            _tell(self._listeners_elsewhere, change)
            _tell(self._listeners, change)


def _kept(listeners: dict[object, Listener], listener: Listener) -> Callable[[], None]:
    ticket = object()
    listeners[ticket] = listener

    def forget() -> None:
        listeners.pop(ticket, None)

    return forget


def _tell(listeners: dict[object, Listener], change: Change) -> None:
    for listener in tuple(listeners.values()):
        listener(change)
