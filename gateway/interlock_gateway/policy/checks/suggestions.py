"""What an author may have meant by a name that there is not."""

from collections.abc import Iterable
from difflib import get_close_matches

_FEW = 8


def meant(name: str, known: Iterable[str]) -> str:
    """Words that go behind a message: the name that is nearest, else the few that there are; empty when many."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there is {', '.join(names)}" if 0 < len(names) <= _FEW else ""
