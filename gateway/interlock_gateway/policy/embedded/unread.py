"""What of the input no rule of a bundle can read, so that it need not be sent to the workers (PERF-4).

The calls that ran before are the longest part of most inputs, and few rules ask about them.
"""

import re
from functools import lru_cache

from interlock_gateway.policy.embedded.rego_text import tokens_of

_NOT_CODE = frozenset({"line", "space"})
_NEEDS_A_LOOK = re.compile(r"\$|\binput\b(?!\.(?!session\b)[A-Za-z_])(?!\.session\.(?!previous\b)[A-Za-z_])")
"""What every source has in it that may read it, be it in words for people: taking sources apart takes longer."""


@lru_cache(maxsize=2)
def reads_previous(modules: tuple[tuple[str, str], ...]) -> bool:
    """Whether any rule may read `input.session.previous`; `modules` are paths and sources.

    False only when it is certain: wherever a source says `input`, a member's name stands behind a dot, and behind
    `session` that of another member. Whoever takes the input or the session whole, or looks into them by a value that
    is computed, may read anything.
    """
    return any(_may_read(source) for _, source in modules)


def _may_read(source: str) -> bool:
    if not _NEEDS_A_LOOK.search(source):
        return False
    found = [text for kind, text, _ in tokens_of(source) if kind not in _NOT_CODE]
    if "$" in found:  # a text with rules in it
        return True
    uses = (place for place, text in enumerate(found) if text == "input" and found[place - 1 : place] != ["."])
    return any(not _is_elsewhere(found[place + 1 : place + 5]) for place in uses)


def _is_elsewhere(behind: list[str]) -> bool:
    """Whether what stands behind `input` leads to another part of it than the calls before."""
    if len(behind) < 2 or behind[0] != "." or not behind[1].isidentifier():  # noqa: PLR2004 - a dot and a name
        return False
    if behind[1] != "session":
        return True
    return len(behind) == 4 and behind[2] == "." and behind[3].isidentifier() and behind[3] != "previous"  # noqa: PLR2004 - and another two
