"""Heads of requests as they come over the wire, recognised without being decoded (RFC 7541, RFC 9113).

libnghttp2 decodes every head, so that the table that both ends keep stays in step, and ends a connection whose heads
cannot be decoded. Here it is only seen whether a head, once decoded, says the same as one that was: each field stands
for an entry of that table, or is written out. Which entry a number stands for follows from how many have been added
since, and that can be counted without knowing what is in them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from interlock_gateway.http2.fields import Fields

_STATIC = 61
_NEWEST = 0x80 | (_STATIC + 1)
"""How the field is written that stands for the entry that was added last; for the one before it is one more."""
_LONGER = 0xFF
"""From here on the number of an entry takes two bytes, of which this is the first."""
_MORE = 0x80
"""What takes three bytes, or more, begins its second with this bit. No entry of a table of 4096 bytes does."""
_MOST_NAMES = 256
"""More entries than a table of 4096 bytes has room for: what is older stands for nothing any more."""
_NOTHING = b"\x80"
"""What stands for no entry: libnghttp2 ends the connection on which it comes."""
_MOST_FIELDS = 64
"""Heads with more fields are not looked at: every byte may be one, and takes as long here as a kilobyte elsewhere."""
_LONG = 0x7F
_ADDED = 0x40
_NAMED_AS_THE_NEWEST = _ADDED | (_STATIC + 1)
_FIXED_AND_VARYING = 2
_RESIZED = range(0x20, 0x40)
_NAME_WRITTEN = frozenset((0x40, 0x00, 0x10))


def _newer(count: int) -> bytes:
    """What translates fields as they are written to how they are after `count` more entries."""
    return bytes(min(number + count, _LONGER) if number >= _NEWEST else number for number in range(256))


_NEWER = tuple(_newer(count) for count in range(_LONGER - _NEWEST))


class _Field(NamedTuple):
    """One field as it is written: from `start` to `end`, and how many entries there were before.

    `entry` is the number of the entry of the table that it, or its name, stands for; `None` when it needs none.
    """

    start: int
    end: int
    before: int
    is_indexed: bool
    is_added: bool
    entry: int | None


@dataclass(frozen=True, slots=True)
class _Part:
    """Fields that are to be the same, or one that varies, called `name`.

    `said` is how they were written, in the latter case the name alone; `entries` are those that fields stand for that
    are written otherwise the more have been added since `before` of them were there, with nothing for the others.
    """

    said: bytes
    name: bytes = b""
    before: int = 0
    entries: tuple[int | None, ...] = ()
    longer: dict[int, bytes] = field(default_factory=dict)

    def written(self, count: int) -> bytes:
        """How they are written when `count` entries have been added."""
        if not self.entries:
            return self.said
        more = count - self.before
        if more < len(_NEWER):
            said = self.said.translate(_NEWER[more])
            if _LONGER not in said:
                return said
        found = self.longer.get(count)
        if found is None:
            pairs = zip(self.said, self.entries, strict=True)
            found = b"".join(bytes((one,)) if entry is None else _number(count - 1 - entry) for one, entry in pairs)
            if len(self.longer) >= _MOST_NAMES:  # no entry is as old as that, but heads may come for ever
                self.longer.clear()
            self.longer[count] = found
        return found


def _number(age: int) -> bytes:
    """How a field is written that stands for an entry after which `age` more were added."""
    number = _NEWEST + age
    if number < _LONGER:
        return bytes((number,))
    return bytes((_LONGER, number - _LONGER)) if number < _LONGER + _MORE else _NOTHING


class Blocks:
    """What is known of the table of a connection, and what a head looks like that says the same as the one `learnt`.

    Every head that comes has to be shown to `matches` or `passes`, in their order; if one is not, `forget`.
    """

    __slots__ = ("_begins", "_count", "_names", "_parts", "_read")

    def __init__(self) -> None:
        self._count = 0
        self._begins = b""
        self._names: dict[int, bytes] = {}
        self._parts: Sequence[_Part] = ()
        self._read: Sequence[_Field] = ()

    def forget(self) -> None:
        """Know nothing of the table any more."""
        if self._names or self._parts:
            self._names.clear()
            self._parts = ()
        self._read = ()
        self._begins = b""

    def matches(self, block: bytes) -> bool:
        """Whether the head says the same as the one learnt, but for what varies. If not, it has yet to `pass`."""
        begins = self._begins
        if begins and block.startswith(begins) and self._ends_alike(block, len(begins)):
            return True
        return self._matches_part_by_part(block)

    def _ends_alike(self, block: bytes, at: int) -> bool:
        """Whether nothing follows but one field that varies, in one of the ways in which it mostly is written."""
        size, count = len(block), self._count
        if at == size:
            return False
        first, name = block[at], self._parts[-1].name
        if _NEWEST <= first < _LONGER:
            return at + 1 == size and self._names.get(count - 1 + _NEWEST - first) == name
        if first != _NAMED_AS_THE_NEWEST or self._names.get(count - 1) != name or at + 2 >= size:
            return False
        length = block[at + 1] & _LONG
        if length == _LONG or at + 2 + length != size:
            return False
        self._add(name)
        return True

    def _add(self, name: bytes) -> None:
        """An entry with this name was added."""
        self._name(self._count, name)
        self._count += 1
        if self._begins:
            self._begins = self._parts[0].written(self._count)

    def _matches_part_by_part(self, block: bytes) -> bool:
        at, count = 0, self._count
        added: list[bytes] = []
        for part in self._parts:
            if not part.name:
                said = part.written(count)
                if not block.startswith(said, at):
                    return False
                at += len(said)
                continue
            at, is_added = self._varying(block, at, part, count)
            if at < 0:
                return False
            if is_added:
                added.append(part.name)
                count += 1
        if at != len(block) or not at:
            return False
        for name in added:
            self._add(name)
        return True

    def passes(self, block: bytes) -> bool:
        """Count what the head adds to the table. If it cannot be told, all is forgotten."""
        fields = _fields(block, self._count)
        if fields is None:
            self.forget()
            return False
        self._count += sum(one.is_added for one in fields)
        if self._begins:
            self._begins = self._parts[0].written(self._count)
        self._read = fields
        return True

    def learn(self, block: bytes, head: Fields, varies: Callable[[bytes], bool]) -> bool:
        """From now on heads are to match this one, the last to pass, which says `head`; whether that is possible."""
        fields, names = self._read, [name for name, _ in head]
        self._parts, self._begins = (), b""
        if len(fields) != len(names) or b"content-length" in names:
            return False
        parts: list[_Part] = []
        for one, name in zip(fields, names, strict=True):
            if varies(name):
                for entry in (one.entry, one.before if one.is_added else None):
                    if entry is not None:
                        self._name(entry, name)
                parts.append(_Part(_name_of(block, one), name))
            elif one.is_added or one.is_indexed:
                entry = one.before if one.is_added else one.entry
                said = block[one.start : one.end] if entry is None else _number(self._count - 1 - entry)[:1]
                last = parts.pop() if parts and parts[-1].entries else _Part(b"")
                parts.append(_Part(last.said + said, b"", self._count, (*last.entries, entry)))
            elif one.entry is None:
                parts.append(_Part(block[one.start : one.end]))
            else:
                return False  # its name will be written otherwise next time
        self._parts = tuple(parts)
        if len(parts) == _FIXED_AND_VARYING and parts[1].name and not parts[0].name:
            self._begins = parts[0].written(self._count)
        return True

    def _varying(self, block: bytes, at: int, part: _Part, count: int) -> tuple[int, bool]:
        """Where the field at `at` ends, -1 when it is another one, and whether it is added to the table."""
        try:
            first = block[at]
            if first >= _NEWEST:
                age, at = _age(block, at)
                return (at, False) if self._names.get(count - 1 - age) == part.name else (-1, False)
            if first in _NAME_WRITTEN:
                end = at + 1 + len(part.said)
                if not part.said or block[at + 1 : end] != part.said:
                    return -1, False
                at = end
            else:
                age, at = _age_of_name(block, at)
                if age < 0 or self._names.get(count - 1 - age) != part.name:
                    return -1, False
            length = block[at] & 0x7F
        except IndexError:
            return -1, False
        end = at + 1 + length
        return (-1 if length == _LONG or end > len(block) else end), first >= _ADDED

    def _name(self, entry: int, name: bytes) -> None:
        names = self._names
        names[entry] = name
        if len(names) > _MOST_NAMES:
            for old in sorted(names)[: _MOST_NAMES // 2]:
                del names[old]


def _age(block: bytes, at: int) -> tuple[int, int]:
    """How many entries are newer than the one that the field at `at` stands for, and where it ends."""
    first = block[at]
    if first < _LONGER:
        return first - _NEWEST, at + 1
    if block[at + 1] >= _MORE:
        raise IndexError
    return _LONGER - _NEWEST + block[at + 1], at + 2


def _age_of_name(block: bytes, at: int) -> tuple[int, int]:
    """How many entries are newer than the one that the field at `at` has its name from, and where its value begins.

    Less than 0 when it is none that was ever added. Raises `IndexError`.
    """
    first = block[at]
    if first in _RESIZED:
        raise IndexError
    most = 0x3F if first >= _ADDED else 0x0F
    number = first & most
    if number < most:
        return number - _STATIC - 1, at + 1
    if block[at + 1] >= _MORE:
        raise IndexError
    return most + block[at + 1] - _STATIC - 1, at + 2


def _name_of(block: bytes, one: _Field) -> bytes:
    """The name as it is written in the field, with its length; empty when it is not."""
    if one.is_indexed or block[one.start] not in _NAME_WRITTEN:
        return b""
    return block[one.start + 1 : _end_of_text(block, one.start + 1)]


def _fields(block: bytes, count: int) -> Sequence[_Field] | None:
    """The fields of a head that comes when `count` entries have been added; `None` if it is not written plainly.

    What changes the size of the table is not: it comes seldom, and is not worth the words.
    """
    found: list[_Field] = []
    at = 0
    try:
        while at < len(block) and len(found) < _MOST_FIELDS:
            one = _field(block, at, count)
            found.append(one)
            at, count = one.end, count + one.is_added
    except IndexError:
        return None
    return found if at == len(block) else None


def _field(block: bytes, at: int, count: int) -> _Field:
    """The field that begins at `at`. Raises `IndexError` when it is not there as a whole, or not written plainly."""
    first = block[at]
    if first >= _NEWEST:
        age, end = _age(block, at)
        return _Field(at, end, count, is_indexed=True, is_added=False, entry=count - 1 - age)
    if first >= _MORE:
        return _Field(at, at + 1, count, is_indexed=True, is_added=False, entry=None)
    if first in _NAME_WRITTEN:
        end, entry = _end_of_text(block, at + 1), None
    else:
        age, end = _age_of_name(block, at)
        entry = count - 1 - age if age >= 0 else None
    return _Field(at, _end_of_text(block, end), count, is_indexed=False, is_added=first >= _ADDED, entry=entry)


def _end_of_text(block: bytes, at: int) -> int:
    """Where a text ends that begins with its length. Raises `IndexError`."""
    length, at = block[at] & _LONG, at + 1
    if length < _LONG:
        return at + length
    for bits in range(0, 21, 7):
        more, at = block[at], at + 1
        length += (more & _LONG) << bits
        if more < _MORE:
            return at + length
    raise IndexError
