"""How many workers there are, and how long they may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How workers are kept.

    `workers` are always there, up to `most_workers` while some are stuck. An evaluation may take `timeout_s` from when
    it was submitted, and may wait `longest_wait_s` for a worker. After `slow_s` of processor time it is slow: those
    queued behind it are sent elsewhere too. A worker has at most `window` evaluations at once. `spare_s` is how long an
    idle extra one is kept. `in_background` gives workers the lowest priority from their start.
    """

    workers: int = 2
    most_workers: int = 6
    timeout_s: float = 0.25
    slow_s: float = 0.002
    longest_wait_s: float = 1.0
    window: int = 8
    spare_s: float = 10.0
    memory_bytes: int = 256 * 1024 * 1024
    in_background: bool = False
