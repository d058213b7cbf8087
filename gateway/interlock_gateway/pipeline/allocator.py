"""What the C library does with the memory of large inputs, where it is glibc; elsewhere nothing here has any effect.

Left alone, it gives megabytes back to the system as soon as they are freed. To come by them again takes several times
as long as to copy an input into them, and that for each of the copies between the socket and policy: on the event
loop, 7 ms for 4 MiB (REL-7).
"""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 32 * 1024 * 1024
"""How much is kept at the end of the heap. It is the library's own bound for what it does not map apart, too."""


def keep_freed() -> None:
    """From now on, keep what is freed for what comes next."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)


def give_back() -> None:
    """Give what is kept back to the system. It takes milliseconds, without the interpreter."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
