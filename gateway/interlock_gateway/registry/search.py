"""Finding tools by words (DEFER-2): names and aliases before titles, hints and descriptions; best first.

The same tools and the same query always give the same order. There is no index beside the process, and no model.
"""

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from interlock_gateway.registry.registered import RegisteredTool

MAX_QUERY_WORDS = 32
MAX_PREFIXED = 100
"""Of so many words that begin like a word of the query, in alphabetical order, each is looked at."""
MAX_INDEXED = 4096
"""So much of a description is indexed, in characters: who needs more words than that is found by none of them."""

_NAME, _TITLE, _HINT, _DESCRIPTION = 8.0, 4.0, 3.0, 1.0
_BEGINS_LIKE_IT = 0.6
_IS_ITS_NAME = 1000.0
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text, folded, with `camelCase` and `snake_case` taken apart."""
    parted = _HUMP.sub(" ", text)
    return _WORD.findall(parted.lower() if parted.isascii() else unicodedata.normalize("NFKC", parted).casefold())


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found; scores compare within one search only."""

    tool: RegisteredTool
    score: float


@dataclass(frozen=True, slots=True)
class Indexed:
    """One tool's words, each with the weight of the best place it stands in; and its names, run together."""

    tool: RegisteredTool
    words: dict[str, float]
    names: frozenset[str]


def indexed(tool: RegisteredTool) -> Indexed:
    """The words that a tool is found by: those that a model would read of it, and its search hint (TOOL-5)."""
    shown = tool.shown
    names = (shown.name, *shown.aliases)
    hint = shown.metadata.search_hint if shown.metadata is not None else ""
    words: dict[str, float] = {}
    for text, weight in (
        (shown.description[:MAX_INDEXED], _DESCRIPTION),
        (hint, _HINT),
        (shown.title, _TITLE),
        *((name, _NAME) for name in names),
    ):
        words.update(dict.fromkeys(words_of(text), weight))
    run_together = frozenset("".join(words_of(name)) for name in names)
    return Indexed(tool, words | dict.fromkeys(run_together, _NAME), run_together)


class ToolIndex:
    """Tools by their words. Made once for a set of tools and never changed, so any thread may read it."""

    def __init__(self, tools: Iterable[Indexed]) -> None:
        self.tools = sorted(tools, key=lambda one: one.tool.name)
        self._places: dict[str, list[tuple[int, float]]] = {}
        self._named: dict[str, list[int]] = {}
        for place, one in enumerate(self.tools):
            for word, weight in one.words.items():
                self._places.setdefault(word, []).append((place, weight))
            for name in one.names:
                self._named.setdefault(name, []).append(place)
        self._words = sorted(self._places)

    def ranked(self, query: str) -> list[Hit]:
        """Every tool that has to do with `query`, best first.

        A tool that has more of the query's words is before one that has fewer, nearly always; one whose name the query
        is comes first. Equal ones are in the order of their names.
        """
        asked = list(dict.fromkeys(words_of(query)))[:MAX_QUERY_WORDS]
        scores: dict[int, float] = {}
        found: dict[int, int] = {}
        for word in asked:
            for place, score in self._scored(word).items():
                scores[place] = scores.get(place, 0.0) + score
                found[place] = found.get(place, 0) + 1
        for place, count in found.items():
            scores[place] *= (count / len(asked)) ** 2
        for place in self._named.get("".join(words_of(query)), ()):
            scores[place] = scores.get(place, 0.0) + _IS_ITS_NAME
        order = sorted(scores, key=lambda place: (-scores[place], place))
        return [Hit(self.tools[place].tool, round(scores[place], 6)) for place in order]

    def _scored(self, word: str) -> dict[int, float]:
        """For each tool that has `word`, or one like it, how well that fits."""
        best: dict[int, float] = {}
        for alike, fit in self._alike(word):
            places = self._places[alike]
            rarity = fit * (1.0 + math.log(len(self.tools) / len(places)))
            for place, weight in places:
                if weight * rarity > best.get(place, 0.0):
                    best[place] = weight * rarity
        return best

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        if word in self._places:
            yield word, 1.0
        if word.endswith("s") and word[:-1] in self._places:
            yield word[:-1], 1.0
        if len(word) > 1:
            first = bisect_left(self._words, word)
            for longer in self._words[first : first + MAX_PREFIXED]:
                if not longer.startswith(word):
                    return
                if longer != word:
                    yield longer, _BEGINS_LIKE_IT
