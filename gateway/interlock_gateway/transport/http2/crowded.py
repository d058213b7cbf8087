"""How a connection is read while more calls come than can be served (REL-8).

What is refused a lot is read every now and then, and most of it is refused without having been given to libnghttp2.
"""

from collections.abc import Mapping
from time import thread_time

from ngh2 import Role, Setting

from interlock_gateway.http2.link import LITTLE_BYTES
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.transport.http2.alike import Alike
from interlock_gateway.transport.http2.elsewhere import SpeaksSecond
from interlock_gateway.transport.http2.framing import window_update
from interlock_gateway.transport.http2.runs import Frames

LATELY_S = 0.25
"""So long after a refusal it is only read every now and then what else comes on a connection; unless in that time
something has come, or is under way, that passes by the gate, such as a decision about a checkpoint."""
MANY_REFUSED = 8
"""So many refusals for what was read at once are a lot: then it is not read on before others have had their turn."""


LEAST_BYTES = 512
"""In less than that there is no run worth looking for."""


class InACrowd(SpeaksSecond):
    """The server's end of a connection on which calls may be refused."""

    alike: Alike | None = None
    """What is refused in this read, once something was."""
    ended_id = 0
    """The stream that ended last."""

    def __init__(self, role: Role, settings: Mapping[Setting, int]) -> None:
        super().__init__(role, settings)
        self._holder = ""
        self._frames = Frames()
        self._unsent = b""
        self._turned_away_at = float("-inf")
        self._passing_by = 0
        self._passed_by_at = float("-inf")
        self._paused = False
        self._of_calls = True
        self._many_at = float("-inf")

    def receive(self, data: bytes, gate: Gate | None) -> None:
        """Take in what came; while calls are refused here, only every now and then what has come until then."""
        if gate is None:
            super().data_received(data)
        elif gate.crowded:
            self._receive_in_a_crowd(data, gate)
        else:
            self._receive_all(data)

    def _receive_all(self, data: bytes) -> None:
        super().data_received(self._frames.skim(data))

    def feed(self, data: bytes) -> bool:
        """Give it to libnghttp2 and act on it; false when the connection is over."""
        if not self._take_in(data):
            return False
        self._of_calls &= super()._handle()
        if not self.open:
            self.flush()
        return self.open

    def flush(self) -> None:
        """Send what may be sent: also what libnghttp2 does not know of, between two frames of what it does."""
        super().flush()
        if self._unsent and self._transport is not None and self.open and not self._full:
            self._transport.write(self._unsent)
            self._unsent = b""

    def answer_alike(self) -> None:
        """Refuse what was found to be alike until now."""
        alike, self.alike = self.alike, None
        if alike is not None:
            self._unsent += alike.answer(self.http2)
            self._reset_soon()

    def _handle(self) -> bool:
        """Act on what has happened, and refuse at once what is refused alike."""
        of_calls = super()._handle()
        self.answer_alike()
        return of_calls

    def _reset_soon(self) -> None:
        """Have streams be reset that were refused before their requests had ended."""
        raise NotImplementedError

    def _listen_or_not(self) -> None:
        """Read, unless there is a reason not to."""
        raise NotImplementedError

    def _receive_runs(self, data: bytes, now: float, room: int) -> None:
        self._heard, self._of_calls = True, True
        if not self._frames.read(data, self, now, room):
            return
        if swallowed := self._frames.take_swallowed():
            self._unsent += window_update(swallowed)
        is_little = self.alike is None and self._of_calls and len(data) <= LITTLE_BYTES
        self.answer_alike()
        if is_little and not self.http2.queued_body_size():
            self._flush_sometime()
        else:
            self.flush()

    def _receive_in_a_crowd(self, data: bytes, gate: Gate) -> None:
        before, began, now = gate.refusals.total, thread_time(), self._loop.time()
        if now - self._many_at <= LATELY_S:
            self._receive_runs(data, now, gate.room)
        else:
            self._receive_all(data)
        now, took_s, refused = self._loop.time(), thread_time() - began, gate.refusals.total - before
        if refused:
            self._turned_away_at = now
            if refused >= MANY_REFUSED:
                self._many_at = now
            gate.has_read(took_s)
        if self._paused or (now - self._turned_away_at > LATELY_S and not gate.is_behind(self._holder)):
            return
        if not self._passing_by and now - self._passed_by_at > LATELY_S:
            gate.pauses.pause(took_s, self._read_on)
        elif refused >= MANY_REFUSED:
            gate.pauses.give_way(took_s, self._read_on)
        else:
            return
        self._paused = True
        self._listen_or_not()

    def _read_on(self) -> None:
        self._paused = False
        self._listen_or_not()
