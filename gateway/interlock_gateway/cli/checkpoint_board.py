"""What a live watch knows: the checkpoints that are open, which one is looked at, and what was said last."""

from dataclasses import dataclass, field

from interlock.v1 import approval_service_pb2 as pb
from interlock.v1 import checkpoint_pb2

from interlock_gateway.cli.checkpoint_view import closing, event_line, state

_KEPT = 5


@dataclass(slots=True)
class Board:
    """The open checkpoints in order of expiry; `chosen` is the id of the one that keys act on, empty for none.

    `watching` says that the gateway has told something: until then nobody is asked.
    """

    open: dict[str, checkpoint_pb2.Checkpoint] = field(default_factory=dict)
    chosen: str = ""
    log: list[str] = field(default_factory=list)
    watching: bool = False

    @property
    def one(self) -> checkpoint_pb2.Checkpoint | None:
        """The checkpoint that is looked at."""
        return self.open.get(self.chosen)

    def ordered(self) -> list[checkpoint_pb2.Checkpoint]:
        """Those that expire first in front."""
        return sorted(self.open.values(), key=lambda one: (one.expires_at.ToNanoseconds(), one.checkpoint_id))

    def take(self, told: pb.WatchCheckpointsResponse, now: float) -> None:
        """Take in what the watch tells. What is looked at stays so while it is open: no key meets another call."""
        one, self.watching = told.checkpoint, True
        if told.event == pb.CHECKPOINT_EVENT_KEEPALIVE:
            return
        if state(one) == "open":
            self.open[one.checkpoint_id] = one
        else:
            self.open.pop(one.checkpoint_id, None)
            self.say(f"{one.checkpoint_id} is {state(one)} {closing(one)}".rstrip())
        if told.event == pb.CHECKPOINT_EVENT_OPENED:
            self.say(event_line(told, now))
        if not self.chosen:
            self.move(0)

    def answered(self, after: checkpoint_pb2.Checkpoint) -> None:
        """Take in what came of an answer from here, and look at the next."""
        self.say(f"{after.checkpoint_id} is {state(after)}")
        if state(after) != "open":
            self.open.pop(after.checkpoint_id, None)
            self.move(0)

    def move(self, steps: int) -> None:
        """Look at the one so many places further on; at the first when the last one looked at is gone."""
        ids = [one.checkpoint_id for one in self.ordered()]
        if not ids:
            self.chosen = ""
            return
        at = ids.index(self.chosen) + steps if self.chosen in ids else 0
        self.chosen = ids[max(0, min(at, len(ids) - 1))]

    def say(self, text: str) -> None:
        """Add a line to what happened; the last few are kept."""
        self.log = [*self.log, text][-_KEPT:]
