"""Makes random shell scripts out of the constructs that hide commands; the same seed gives the same scripts."""

import random
from collections.abc import Callable

_NAMES = ("zap", "zip", "zop", "zup", "'z'ip", '"zop"', "z\\ap", "$'z\\x61p'", "z\\\nup", "z''ap")
_WORDS = (
    "a",
    "b1",
    "-x",
    "'a b'",
    '"c"',
    "d\\ e",
    "#f",
    "g#",
    "$'h\\ti'",
    "{j}",
    "=k",
    "~",
    "l=m",
    "'#'",
    '"#"',
    "\\#",
)
_PREFIXES = ("! ", "time ", "A=1 ", "A=$(zap) ", "command ", "builtin command ", "eval ", "env ", "exec 3>&1; ")
_NOISE = (
    "\\\n",
    " ",
    "\t",
    "\n",
    "#",
    "'",
    '"',
    "\\",
    "`",
    ";",
    "&",
    "|",
    "(",
    ")",
    "<",
    ">",
    "$",
    "{",
    "}",
    "[",
    "]",
    "=",
)


class Scripts:
    """Scripts up to `depth` constructs deep; `noise` is how often one is damaged."""

    def __init__(self, seed: int, *, depth: int = 3, noise: float = 0.3) -> None:
        self._random = random.Random(seed)
        self._depth = depth
        self._noise = noise

    def script(self) -> str:
        text = self._list(self._depth)
        while self._random.random() < self._noise:
            at = self._random.randrange(len(text) + 1)
            text = text[:at] + self._random.choice(_NOISE) + text[at + self._random.randrange(2) :]
        return text

    def _broken(self, word: str) -> str:
        """A reserved word, now and then broken over two lines."""
        at = self._random.randrange(6 * len(word))
        return f"{word[:at]}\\\n{word[at:]}" if 0 < at < len(word) else word

    def _pick(self, *choices: Callable[[], str]) -> str:
        return self._random.choice(choices)()

    def _list(self, depth: int) -> str:
        joints = ("; ", " && ", " || ", "\n", " & ", " | ", ";", "\n\n", " # note\n", " |& ", "&&\n", "|\n")
        text = self._command(depth)
        for _ in range(self._random.choice((0, 0, 1, 2))):
            text += self._random.choice(joints) + self._command(depth)
        return text

    def _command(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.5:
            return self._simple(depth)

        def inner() -> str:
            return self._list(depth - 1)

        say = self._broken
        return self._pick(
            lambda: f"{{ {inner()}\n}}",
            lambda: f"({inner()})",
            lambda: f"{say('if')} {inner()}\n{say('then')} {inner()}\n{say('fi')}",
            lambda: f"{say('for')} x {say('in')} {self._word(depth)}; {say('do')} {inner()}\n{say('done')}",
            lambda: f"{say('case')} {self._word(depth)} in {self._word(0)}) {inner()};; *) {inner()}\n{say('esac')}",
            lambda: f"f() {{ {inner()}\n}}; f",
            lambda: f"[[ -n {self._word(depth)} ]] && {inner()}",
            lambda: f"bash -c '{inner().replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'",
            lambda: f"eval '{inner().replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'",
            lambda: f"trap '{inner().replace(chr(39), chr(34))}' EXIT",
            lambda: self._heredoc(depth),
        )

    def _heredoc(self, depth: int) -> str:
        mark = self._random.choice(("EOF", "'EOF'", "\\EOF", "-EOF", '"EOF"', "E'O'F"))
        body = "".join(self._random.choice(self._body(depth)) for _ in range(self._random.randrange(4)))
        rest = self._random.choice(("", " | zup", " && zop", "; zip", " 2>&1", " >o"))
        return f"{{ {self._random.choice(('zap', 'cat', 'bash'))} <<{mark}{rest}\n{body}EOF\n}}"

    def _body(self, depth: int) -> tuple[str, ...]:
        return (
            "zip\n",
            f"$({self._simple(depth - 1)})\n",
            "`zop`\n",
            "EO\\\nF\n",
            " EOF\n",
            "\tEOF\n",
            "EOFX\n",
            "it's\n",
            '"\n',
        )

    def _simple(self, depth: int) -> str:
        prefix = self._broken(self._random.choice(_PREFIXES)) if self._random.random() < 0.25 else ""
        words = [self._random.choice(_NAMES)] + [self._word(depth) for _ in range(self._random.randrange(3))]
        if self._random.random() < 0.2:
            words.insert(
                self._random.randrange(len(words) + 1), self._random.choice((">o", "2>&1", "<<<x", "</dev/null", "&>o"))
            )
        return prefix + " ".join(words)

    def _word(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.6:
            return self._random.choice(_WORDS)

        def inner() -> str:
            return self._list(depth - 1)

        return self._pick(
            lambda: f"$({inner()})",
            lambda: f'"$({inner()})"',
            lambda: f"`{self._simple(0).replace('`', '')}`",
            lambda: f"<({inner()})",
            lambda: f"${{x:-{self._word(depth - 1)}}}",
            lambda: f'"${{x:-$({inner()})}}"',
            lambda: f"${{x#{self._word(0)}}}",
            lambda: f"$((1+$({self._simple(0)})))",
            lambda: self._word(depth - 1) + self._word(depth - 1),
        )
