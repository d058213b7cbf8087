"""Labels that stay few, whoever makes up their values (OBS-1)."""

OTHER = "other"
"""What stands for every value that found no room."""


class BoundedLabel:
    """The first `most` values of a label as they are, and `other` for those that come later.

    A value keeps its place until the process ends: a counter that came and went would be worse than none.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """What to write for `value`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value
