"""Charts as plain SVG: lines, areas, bars and figures, light and readable, with no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

HEADING_PX = 40
COLOURS = ("#3274d9", "#37872d", "#e0b400", "#c4162a", "#8f3bb8", "#fa6400", "#1f9e9e", "#705da0", "#806eb7", "#447ebc")
_STYLE = """\
text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#24292f}
.t{font-weight:600;font-size:12px}.h{font-weight:600;font-size:15px}.s{fill:#6e7781;font-size:9px}.l{font-size:10px}
.n{font-weight:600;font-size:24px;text-anchor:middle}.m{text-anchor:middle}.e{text-anchor:end}
.f{fill:#fff;stroke:#d0d7de}.g{stroke:#eaeef2}.p{fill:none;stroke-width:1.5;stroke-linejoin:round}.b{fill:#f3f4f6}"""
_SCALES = {
    "s": ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "B")),
    "Bps": ((1024.0**2, "MiB/s"), (1024.0, "KiB/s"), (1.0, "B/s")),
}
_WHOLE_FROM = 5
_SUFFIXES = {"ops": "/s", "percentunit": "%"}


@dataclass(frozen=True, slots=True)
class Box:
    """A place in the picture, in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line by name; its points are shares of the time shown, from 0 to 1, with values."""

    name: str
    points: tuple[tuple[float, float], ...]


def worded(value: float, unit: str) -> str:
    """A value with its unit, as short as it can be read."""
    if unit == "percentunit":
        return f"{value * 100:.3g}%"
    for size, name in _SCALES.get(unit, ()):
        if abs(value) >= size:
            return f"{value / size:.3g} {name}"
    if unit in _SCALES:
        return f"0 {'s' if unit == 's' else _SCALES[unit][-1][1]}" if value == 0 else f"{value:.1g} {unit}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}{_SUFFIXES.get(unit, '')}"


class Drawing:
    """A picture that is put together piece by piece."""

    def __init__(self, width: float, height: float) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#f6f8fa"/>',
        ]

    def text(self) -> str:
        """The picture."""
        return "\n".join((*self._parts, "</svg>")) + "\n"

    def heading(self, x: float, y: float, words: str) -> None:
        """A line above what follows."""
        self._say(x, y, words, "h")

    def frame(self, box: Box, title: str) -> None:
        """The frame of a panel, with its title."""
        place = f'x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}"'
        self._parts.append(f'<rect class="f" {place} rx="4"/>')
        self._say(box.x + 8, box.y + 16, title, "t")

    def chart(self, box: Box, lines: Sequence[Line], unit: str, *, stacked: bool) -> None:
        """Lines over time, laid on each other or not, with their names below."""
        inner = Box(box.x + 44, box.y + 26, box.width - 54, box.height - 58)
        stacks = _stacks(lines) if stacked else [tuple((at, 0.0, value) for at, value in line.points) for line in lines]
        top = max((high for stack in stacks for _, _, high in stack), default=0.0) or 1.0
        for share in (0.0, 0.5, 1.0):
            y = inner.y + inner.height * (1 - share)
            self._parts.append(
                f'<path class="g" d="M{inner.x:.0f} {y:.1f}h{inner.width:.0f}"/>',
            )
            self._say(inner.x - 4, y + 3, worded(top * share, unit), "s e")
        for place, stack in enumerate(stacks):
            self._curve(inner, stack, top, COLOURS[place % len(COLOURS)], filled=stacked)
        self._legend(box, [line.name for line in lines])

    def bars(self, box: Box, values: Sequence[tuple[str, float]], unit: str) -> None:
        """One bar for each value, the longest first; those that find no room are counted."""
        room = int((box.height - 30) // 18)
        shown = values[: room if len(values) <= room else room - 1]
        top = max((value for _, value in shown), default=0.0) or 1.0
        for place, (name, value) in enumerate(shown):
            y = box.y + 26 + 18 * place
            width = box.width - 76
            self._parts.append(f'<rect class="b" x="{box.x + 8:.0f}" y="{y:.0f}" width="{width:.0f}" height="15"/>')
            colour = COLOURS[place % len(COLOURS)]
            self._parts.append(
                f'<rect fill="{colour}" fill-opacity=".35" x="{box.x + 8:.0f}" y="{y:.0f}" '
                f'width="{max(1.0, width * value / top):.1f}" height="15"/>'
            )
            self._say(box.x + 12, y + 11, _cut(name or "value", width / 5.4), "l")
            self._say(box.x + box.width - 8, y + 11, worded(_rounded(value), unit), "l e")
        if len(shown) < len(values):
            self._say(box.x + 12, box.y + 37 + 18 * len(shown), f"and {len(values) - len(shown)} more", "s")

    def figures(self, box: Box, values: Sequence[tuple[str, float]], unit: str) -> None:
        """Figures side by side, with their names."""
        for place, (name, value) in enumerate(values):
            middle = box.x + box.width * (place + 0.5) / len(values)
            self._say(middle, box.y + box.height / 2 + 12, worded(_rounded(value), unit), "n")
            self._say(middle, box.y + box.height / 2 + 32, name, "s m")

    def _curve(
        self, inner: Box, stack: Sequence[tuple[float, float, float]], top: float, colour: str, *, filled: bool
    ) -> None:
        def place(at: float, value: float) -> str:
            return f"{inner.x + inner.width * at:.1f} {inner.y + inner.height * (1 - max(0.0, value) / top):.1f}"

        upper = [place(at, high) for at, _, high in stack]
        if filled:
            lower = [place(at, low) for at, low, _ in reversed(stack)]
            outline = "L".join((*upper, *lower))
            self._parts.append(f'<path fill="{colour}" fill-opacity=".3" d="M{outline}Z"/>')
        broken = "".join(f"{'M' if gap else 'L'}{point}" for gap, point in zip(_gaps(stack), upper, strict=True))
        self._parts.append(f'<path class="p" stroke="{colour}" d="{broken}"/>')

    def _legend(self, box: Box, names: Sequence[str]) -> None:
        x, y = box.x + 10, box.y + box.height - 20
        for place, name in enumerate(names):
            shown = _cut(name, 28)
            width = 16 + 5.2 * len(shown)
            if x + width > box.x + box.width - 6:
                x, y = box.x + 10, y + 13
            if y > box.y + box.height - 4:
                return
            colour = COLOURS[place % len(COLOURS)]
            self._parts.append(f'<rect fill="{colour}" x="{x:.0f}" y="{y - 6:.0f}" width="8" height="3"/>')
            self._say(x + 11, y, shown, "s")
            x += width + 6

    def _say(self, x: float, y: float, words: str, kind: str) -> None:
        self._parts.append(f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>')


def _stacks(lines: Sequence[Line]) -> list[tuple[tuple[float, float, float], ...]]:
    """Each line on those before it: for each time, from where to where it reaches."""
    reached: dict[float, float] = {}
    stacks = []
    for line in lines:
        stack = []
        for at, value in line.points:
            low = reached.get(round(at, 4), 0.0)
            reached[round(at, 4)] = low + value
            stack.append((at, low, low + value))
        stacks.append(tuple(stack))
    return stacks


def _gaps(stack: Sequence[tuple[float, float, float]]) -> list[bool]:
    """For each point whether a line begins there: at the first, and where values are missing before it."""
    steps = [later[0] - earlier[0] for earlier, later in pairwise(stack)]
    usual = min(steps, default=0.0)
    return [True, *(step > 1.5 * usual for step in steps)]


def _rounded(value: float) -> float:
    """A growth over time is no whole number to Prometheus, which knows only what it has scraped."""
    return round(value) if value >= _WHOLE_FROM else round(value, 3)


def _cut(text: str, most: float) -> str:
    return text if len(text) <= most else text[: int(most) - 1] + "…"
