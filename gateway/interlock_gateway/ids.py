"""Random identifiers, cheap to make: the system is asked for randomness in bulk."""

import os
from collections.abc import Callable

_AT_ONCE = 256
_BYTES = 16


class Ids:
    """Makes identifiers of 128 random bits, as UUIDs (version 4, RFC 9562). Not for use by several threads at once."""

    def __init__(self, random: Callable[[int], bytes] = os.urandom) -> None:
        self._random = random
        self._hex = ""
        self._at = 0

    def next(self) -> str:
        """A new identifier."""
        if self._at == len(self._hex):
            self._hex, self._at = self._random(_AT_ONCE * _BYTES).hex(), 0
        at = self._at
        self._at = at + 2 * _BYTES
        raw = self._hex[at : self._at]
        variant = "89ab"[int(raw[16], 16) & 3]
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-{variant}{raw[17:20]}-{raw[20:]}"
