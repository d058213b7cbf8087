"""The operations of another host, as the tools use them: each asks its far end, and checks what comes back."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as StillGoingOnError
from contextlib import suppress
from typing import Any, BinaryIO, TypeVar

from interlock.toolbox.errors import OperationError, OutcomeUnknownError, UnreachableError
from interlock.toolbox.expressions import Expression
from interlock.toolbox.operations import (
    MAX_FILE_BYTES,
    Entry,
    Exit,
    LineMatch,
    Operations,
    Place,
    SearchBudget,
    Snapshot,
    Tree,
)
from interlock.toolbox.remote import answers
from interlock.toolbox.remote.frames import MAX_WORDS, PIECE, BadFrameError, place_words
from interlock.toolbox.remote.link import Call, Link
from interlock.toolbox.remote.reaching import Begun, Reaching
from interlock.toolbox.remote.remote_file import remote_file

_LOOK_S = 0.2
_MARGIN_S = 5.0
T = TypeVar("T")


def operations_of(reaching: Reaching) -> Operations:
    """The operations of a host that is being reached."""
    return Operations(RemoteFiles(reaching), RemoteVault(reaching), RemoteShell(reaching), RemoteSearch(reaching))


class _Asking:
    """Asks one far end."""

    def __init__(self, reaching: Reaching) -> None:
        self._reaching = reaching

    def _ask(self, call: Call, read: Callable[[Any, bytes], T]) -> T:
        return self._read(call, self._reaching.made(call), read)

    def _do(self, call: Call) -> None:
        self._ask(call, lambda words, _: answers.nothing(words))

    def _read(self, call: Call, found: tuple[Any, bytes], read: Callable[[Any, bytes], T]) -> T:
        """What was answered. One that answers what makes no sense may have done anything."""
        try:
            return read(*found)
        except BadFrameError as error:
            self._reaching.broken(f"it answered {error}")
            sentence = f"{self._reaching.host} answered {error}"
            raise (OutcomeUnknownError if call.changes else UnreachableError)(sentence) from None


class RemoteFiles(_Asking):
    """`Files` beneath directories of another host, found there as its own toolbox would (BOX-12)."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The absolute paths of the roots there."""
        return self._reaching.roots

    def resolve(self, place: Place) -> Place:
        """Where the place really is."""
        return self._ask(_about("resolve", place), lambda words, _: answers.place(words, self.roots))

    def stat(self, place: Place) -> Entry:
        """What is there."""
        return self._ask(_about("stat", place), lambda words, _: answers.entry(words))

    def entries(self, place: Place) -> Sequence[Entry]:
        """The entries of a directory."""
        call = Call("entries", {"place": place_words(place)}, most_words=MAX_WORDS)
        return self._ask(call, lambda words, _: answers.entries(words))

    def read_link(self, place: Place) -> str:
        """What a link says."""
        return self._ask(_about("read_link", place), lambda words, _: answers.text(words))

    def open(self, place: Place) -> BinaryIO:
        """A regular file, open for reading there, of which pieces come as they are read."""
        call = Call("open", {"place": place_words(place)}, most_content=PIECE)
        begun = self._reaching.begin(call)
        number, size, first = self._read(call, self._reaching.ended(begun), _opened)
        return remote_file(_Piecewise(self._reaching, begun.link, number, str(place)), size, first, whole=number == 0)

    def snapshot(self, place: Place) -> Snapshot:
        """The file's state."""
        call = Call("snapshot", {"place": place_words(place)}, most_content=MAX_FILE_BYTES)
        return self._ask(call, lambda words, content: answers.snapshot(words, content, self.roots))

    def replace(self, snapshot: Snapshot, content: bytes, mode: int) -> None:
        """Put a whole file in the place of what the snapshot found."""
        self._do(Call("replace", {**_before(snapshot), "mode": mode}, content, changes=True))

    def remove(self, snapshot: Snapshot) -> None:
        """Remove the file that the snapshot found."""
        self._do(Call("remove", _before(snapshot), changes=True))

    def make_directory(self, place: Place) -> None:
        """Make one directory."""
        self._do(Call("make_directory", {"place": place_words(place)}, changes=True))

    def remove_directory(self, place: Place) -> bool:
        """Remove a directory if it is there and empty."""
        call = Call("remove_directory", {"place": place_words(place)}, changes=True)
        return self._ask(call, lambda words, _: answers.yes(words))

    def identity(self, place: Place) -> str:
        """Identifies what is there."""
        return self._ask(_about("identity", place), lambda words, _: answers.text(words))

    def rename(self, source: Place, target: Place) -> None:
        """Move to a free name."""
        self._do(Call("rename", {"place": place_words(source), "target": place_words(target)}, changes=True))

    def tree(self, place: Place, most_names: int) -> Tree:
        """What a removal would take."""
        call = Call("tree", {"place": place_words(place), "most": most_names}, most_words=MAX_WORDS)
        return self._ask(call, lambda words, _: answers.tree(words, self.roots, most_names))

    def trash(self, tree: Tree, slot: str) -> None:
        """Move a tree into the vault there."""
        words = {"place": place_words(tree.place), "token": tree.token, "slot": slot}
        self._do(Call("trash", words, changes=True))

    def untrash(self, slot: str, place: Place) -> None:
        """Move a tree back from the vault there."""
        self._do(Call("untrash", {"place": place_words(place), "slot": slot}, changes=True))


class RemoteVault(_Asking):
    """`Vault` in a directory of the other host, beside what it is about."""

    def keep(self, content: bytes) -> str:
        """Store the content durably."""
        digest = self._ask(Call("keep", content=content), lambda words, _: answers.text(words))
        if digest != hashlib.sha256(content).hexdigest():
            raise OperationError("the previous content was not kept as it is, so nothing was changed")
        return digest

    def kept(self, digest: str) -> bytes:
        """What was kept under the digest, verified here too."""
        call = Call("kept", {"digest": digest}, most_content=MAX_FILE_BYTES)
        content = self._ask(call, lambda _, content: content)
        if hashlib.sha256(content).hexdigest() != digest:
            raise OperationError("the previous content was damaged in the state directory")
        return content

    def save(self, record_id: str, record: Mapping[str, Any]) -> None:
        """Store or replace a record durably."""
        self._do(Call("save", {"id": record_id, "record": dict(record)}))

    def load(self, record_id: str) -> dict[str, Any]:
        """The record of that id."""
        call = Call("load", {"id": record_id}, most_words=MAX_WORDS)
        return self._ask(call, lambda words, _: answers.record(words))

    def trash_holds(self, slot: str) -> bool:
        """Whether there is something in the slot."""
        return self._ask(Call("trash_holds", {"slot": slot}), lambda words, _: answers.yes(words))

    def sweep(self, older_than_s: float) -> int:
        """Forget what is old."""
        return self._ask(Call("sweep", {"older_than_s": older_than_s}), lambda words, _: answers.number(words))


class RemoteShell(_Asking):
    """`Shell` with the other host's bash, and the allowed part of the environment that SSH gives there."""

    async def run(self, command: str, *, cwd: Place, timeout_s: float, on_output: Callable[[bytes], None]) -> Exit:
        """Run a script to its end there, or end it."""
        here = asyncio.get_running_loop()

        def deliver(block: bytes, took: Callable[[], None]) -> None:
            on_output(block)
            self._reaching.soon(took)

        def output(block: bytes, took: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # nobody is there to read it
                here.call_soon_threadsafe(deliver, block, took)

        words = {"command": command, "cwd": place_words(cwd), "timeout_s": timeout_s}
        call = Call("run", words, changes=True, output=output)
        begun = self._reaching.begin(call)
        return self._read(call, await _ended(begun), lambda words, _: answers.ended(words))


class RemoteSearch(_Asking):
    """`LineSearch` by what the other host has: its ripgrep, or Python."""

    def lines(
        self, places: Sequence[Place], wanted: Expression, budget: SearchBudget
    ) -> Sequence[tuple[LineMatch, ...] | None]:
        """The matching lines of each file; None for one that is no text, or too large."""
        words = {
            "places": [place_words(place) for place in places],
            "python": wanted.python,
            "ripgrep": wanted.ripgrep,
            "most": budget.most_per_file,
            "seconds": max(0.0, budget.until - time.monotonic()),
        }
        call = Call("lines", words, most_words=MAX_WORDS)
        found = self._searched(self._reaching.begin(call), budget)
        return self._read(call, found, lambda words, _: answers.lines(words, len(places), budget.most_per_file))

    def _searched(self, begun: Begun, budget: SearchBudget) -> tuple[Any, bytes]:
        while True:
            try:
                return begun.answer.result(_LOOK_S)
            except StillGoingOnError:
                if budget.stop() or time.monotonic() > budget.until + _MARGIN_S:
                    begun.call_off()
                    return begun.answer.result()


class _Piecewise:
    """Pieces of one file that is open there, as long as the connection lasts that it was opened over."""

    def __init__(self, reaching: Reaching, link: Link | None, number: int, given: str) -> None:
        self._reaching, self._link, self._number, self._given = reaching, link, number, given

    def read(self, offset: int, count: int) -> bytes:
        """A piece, no longer than asked for; empty at the end."""
        words = {"file": self._number, "given": self._given, "offset": offset, "count": count}
        return self._reaching.made(Call("read", words, most_content=count), self._link)[1]

    def close(self) -> None:
        """Let go of it, without waiting."""
        with suppress(UnreachableError):  # what is gone holds nothing open
            self._reaching.begin(Call("close", {"file": self._number}), self._link)


async def _ended(begun: Begun) -> tuple[Any, bytes]:
    """The answer. Cancelled, what was begun has ended over there before this does."""
    answer = asyncio.wrap_future(begun.answer)
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        begun.call_off()
        while not answer.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([answer])
        answer.exception()
        raise


def _about(name: str, place: Place) -> Call:
    return Call(name, {"place": place_words(place)})


def _before(snapshot: Snapshot) -> dict[str, Any]:
    before = None
    if snapshot.content is not None:
        before = {"digest": hashlib.sha256(snapshot.content).hexdigest(), "mode": snapshot.mode}
    missing = [place_words(place) for place in snapshot.missing]
    return {"place": place_words(snapshot.place), "before": before, "missing": missing}


def _opened(words: Any, first: bytes) -> tuple[int, int, bytes]:
    number, size = answers.pair(words)
    return answers.number(number), answers.number(size), first
