"""Whether this replica may change anything: one that others take for dead must not go on as if it were alive."""

import math
import time
from collections.abc import Callable

LOST = "this replica has lost its lease on the state database; nothing is run until it has a new one"


class Standing:
    """A replica's lease as it knows it itself: it ends by this machine's clock even when nothing reaches the database.

    It is `unbounded` until it is first lost or granted: for one that has its database to itself. Read from several
    threads.
    """

    def __init__(self, replica_id: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.replica_id = replica_id
        self._monotonic = monotonic
        self._lease = ("", math.inf)

    @property
    def incarnation(self) -> str:
        """The name of the lease; another one each time the replica registers."""
        return self._lease[0]

    @property
    def holds(self) -> bool:
        """Whether the lease has not run out."""
        return self._monotonic() < self._lease[1]

    @property
    def unbounded(self) -> bool:
        """Whether nobody else can take this replica for dead."""
        return self._lease[1] == math.inf

    def grant(self, incarnation: str, asked_at: float, lease_s: float) -> None:
        """The database granted `lease_s` seconds at some time after `asked_at` (monotonic)."""
        self._lease = (incarnation, asked_at + lease_s)

    def lose(self) -> None:
        """The lease is over, or cannot be known to hold."""
        self._lease = (self._lease[0], -math.inf)
