"""The real clock."""

import time


class SystemClock:
    """Time as the machine has it."""

    def now(self) -> float:
        """Unix time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
