"""Programs that build, when they take what is to be run from their standard input."""

import re

from interlock_gateway.facts.shell.effects import NOTHING, UNKNOWN, Effects, Interpretation, Run
from interlock_gateway.facts.shell.reading import Word

_FED = {
    **dict.fromkeys(("make", "gmake", "bmake", "cmake"), "make"),
    **dict.fromkeys(("docker", "podman", "nerdctl", "buildah"), "dockerfile"),
    "ninja": "ninja",
    "rake": "ruby",
    "just": "just",
}
_FROM_STDIN = re.compile(r"(?:.*=|-[A-Za-z]+)?(?:-|/dev/(?:stdin|fd/0)|/proc/self/fd/0)", re.DOTALL)
_BUILDS = frozenset({"build", "bake", "bud", "compose"})


def fed(name: str, words: list[Word]) -> Interpretation | None:
    """What `make -f -` and its kin run: what comes from standard input. None for everything else."""
    language = _FED.get(name)
    if language is None or not any(_FROM_STDIN.fullmatch(word.text) for word in words[1:]):
        return None
    builds = language != "dockerfile" or any(word.text in _BUILDS for word in words[1:])
    return Interpretation(language, "stdin") if builds else None


def coverage(words: list[Word]) -> Effects:
    """`coverage run` takes what follows as Python does: a module with `-m`, else a file."""
    texts = [word.text for word in words]
    if "run" not in texts[1:2]:
        return NOTHING
    if "-m" in texts:
        return Effects((Run(tuple(words[texts.index("-m") + 1 :])),))
    if any(text.startswith("--m") for text in texts):
        return Effects((UNKNOWN,))
    operands = [word for word in words[2:] if not word.text.startswith("-")]
    return Effects(interprets=Interpretation("python", "file", operands[0])) if operands else NOTHING
