"""How long evaluations take as a rule, when one takes so much more that it gives way, and when it is lost (REL-7)."""

HOGGING_S = 0.002
"""Who has used no more gives way to nobody: a worker that has given way must be replaced, which takes half as long."""
MOST_HOGGING_S = 0.005
"""Who has used so much gives way in any case."""
SOON_S = HOGGING_S / 2
"""Who has used so much may soon have used too much."""
TIMES = 6
"""How much more than usual is too much, within these bounds."""
STUCK_S = 0.02
"""One that gives way, or has used most of that, and is this old will probably cost its worker's life: its replacement
is started now, to be in time."""
HUNG = 4
"""One that takes so many times as long as it may costs its worker's life, whatever it used: the worker hangs."""
LEAST_S = 0.05
"""What an evaluation may take in any case, also when its time has passed while it waited."""
_WEIGHT = 1 / 32


class Pace:
    """What small inputs took of late. Nothing is known at first: then only what takes very long is out of the way."""

    __slots__ = ("_usual_s",)

    def __init__(self) -> None:
        self._usual_s = MOST_HOGGING_S / TIMES

    @property
    def hogging_s(self) -> float:
        """How much of the processor an evaluation may use before it gives way to all others."""
        return min(max(TIMES * self._usual_s, HOGGING_S), MOST_HOGGING_S)

    def took(self, seconds: float) -> None:
        """An evaluation used so much of the processor, and came to its end. Nothing is learnt from one that used 0."""
        if seconds:
            self._usual_s += (min(seconds, MOST_HOGGING_S) - self._usual_s) * _WEIGHT
