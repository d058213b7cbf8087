"""Reads a program's options, so far as to know which word is the first that is not one."""

from dataclasses import dataclass, field

from interlock_gateway.facts.shell.reading import HOLE, Word


@dataclass(frozen=True, slots=True)
class Options:
    """The options a program knows: letters without a value, with one, with one only when attached.

    Long names, without and with a value, are separated by spaces.

    `bare_dash` and `digits` say that `-` and `-10` are options. `permuted` says that options may follow operands.
    After one of `last`, no more options are read.
    """

    flags: str = ""
    valued: str = ""
    attached: str = ""
    long_flags: str = ""
    long_valued: str = ""
    last: str = ""
    bare_dash: bool = False
    digits: bool = False
    permuted: bool = False


@dataclass(slots=True)
class Parsed:
    """Options as given, names without dashes, and where the operands start. `known` is false when that is a guess.

    `given` has the last value of each option, `values` all that were given, in order.
    """

    given: dict[str, Word | None] = field(default_factory=dict)
    operands: list[Word] = field(default_factory=list)
    known: bool = True
    values: list[tuple[str, Word]] = field(default_factory=list)

    def note(self, name: str, value: Word | None = None) -> None:
        """Note an option that is given."""
        self.given[name] = value
        if value is not None:
            self.values.append((name, value))

    def texts(self, *names: str) -> list[str]:
        """All the values of options, in order."""
        return [value.text for name, value in self.values if name in names]


def parse(words: list[Word], options: Options) -> Parsed:
    """Read `words` after the program's name."""
    parsed = Parsed()
    index = 0
    while index < len(words):
        word = words[index]
        text = word.text
        if text == "--":
            parsed.operands += words[index + 1 :]
            break
        if text.startswith(HOLE):
            parsed.known = False
        if text.startswith("-") and (text != "-" or options.bare_dash):
            index += 1 + _option(text, words[index + 1 : index + 2], options, parsed)
            if options.last and any(letter in parsed.given for letter in options.last):
                parsed.operands += words[index:]
                break
            continue
        if not options.permuted:
            parsed.operands += words[index:]
            break
        parsed.operands.append(word)
        index += 1
    return parsed


def _option(text: str, following: list[Word], options: Options, parsed: Parsed) -> int:
    """Note one option word; how many words of value follow it."""
    if text == "-" or (options.digits and text[1:].isdecimal()):
        parsed.note(text)
        return 0
    if text.startswith("--"):
        return _long(text[2:], following, options, parsed)
    for position, letter in enumerate(text[1:], start=2):
        if letter in options.flags:
            parsed.note(letter)
            continue
        rest = text[position:]
        if letter in options.attached or (letter in options.valued and rest):
            parsed.note(letter, Word(rest, rest))
            return 0
        if letter in options.valued:
            return _value(letter, following, parsed)
        parsed.known = False
        return 0
    return 0


def _long(text: str, following: list[Word], options: Options, parsed: Parsed) -> int:
    name, equals, value = text.partition("=")
    valued, flags = options.long_valued.split(), options.long_flags.split()
    names = [name]
    if name not in valued and name not in flags:
        # GNU programs and git take the beginning of a name for the whole; which they take it for is a guess.
        meant = [known for known in (*valued, *flags) if known.startswith(name)] if name else []
        names = meant or names
        parsed.known = parsed.known and bool(equals) and not meant
    taken = not equals and name not in flags and all(one in valued for one in names)
    if taken and not following:
        parsed.known = False
    for one in names:
        parsed.note(one, Word(value, value) if equals else following[0] if taken and following else None)
    return int(taken and bool(following))


def _value(name: str, following: list[Word], parsed: Parsed) -> int:
    if not following:
        parsed.known = False
        return 0
    parsed.note(name, following[0])
    return 1


def shortened(text: str, option: str) -> bool:
    """Whether a word is a long option, or enough of its beginning that a program may take it for the whole."""
    return len(text) > len("--x") and option.startswith(text)
