"""How a command ends, for scripts."""

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """The exit codes; `meaning` is what the documentation says."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """A code and what it means."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    OK = 0, "It was done."
    REFUSED = 1, "It was refused or denied, it failed, or a check found something."
    USAGE = 2, "The command line or the configuration is wrong; nothing was tried."
    UNREACHABLE = 3, "The gateway cannot be reached, or cannot work now."
    WAITING = 4, "Nothing ran yet: the call waits for `resolve`, for a person, or for a deliverable."
    UNKNOWN = 5, "It is not known whether it took effect; look before trying again."
    NOTHING = 6, "There was nothing to look at, so nothing is said."
    INTERRUPTED = 130, "Interrupted (Ctrl-C)."
