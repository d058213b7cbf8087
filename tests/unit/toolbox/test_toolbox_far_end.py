"""Both ends of a connection against a peer that means no good, and against one that is slow."""

import asyncio
import json
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock.toolbox.errors import MissingError, OperationError, OutcomeUnknownError, UnreachableError
from interlock.toolbox.remote import answers
from interlock.toolbox.remote.frames import (
    HEADER,
    IN_FLIGHT,
    MAX_WORDS,
    PIECE,
    READY,
    WINDOW,
    BadFrameError,
    Sort,
    packed,
)
from interlock.toolbox.remote.link import Call, Link
from interlock.toolbox.remote.shipping import COMMAND, archived, shipment

pytestmark = pytest.mark.req("BOX-1")
ROOTS = ("/srv",)
LOOK = Call("stat", most_words=1000, most_content=1000)
CHANGE = Call("replace", changes=True)


def frame(sort: int, number: int, words: bytes = b"", content: bytes = b"") -> bytes:
    return HEADER.pack(sort, number, len(words), len(content)) + words + content


class Scripted:
    """A peer that says what it was told to as soon as it is called, and then nothing."""

    def __init__(self, says: bytes) -> None:
        self.says = says
        self.heard = bytearray()
        self.most = 0
        self.called = asyncio.Event()
        self.ended = asyncio.Event()

    async def read(self, most: int) -> bytes:
        self.most = max(most, self.most)
        await self.called.wait()
        if not self.says:
            await self.ended.wait()
            return b""
        taken, self.says = self.says[:most], self.says[most:]
        return taken

    async def write(self, content: bytes) -> None:
        self.heard += content
        self.called.set()

    def abort(self) -> None:
        self.ended.set()

    async def gone(self) -> None:
        await self.ended.wait()


HOSTILE = {
    "garbage": b"HTTP/1.1 200 OK\r\n\r\nhello",
    "no kind": frame(77, 1),
    "a kind of ours": frame(Sort.CALL, 1, b"{}"),
    "an answer to nothing": frame(Sort.ANSWER, 99, b"null"),
    "the same answer for another": frame(Sort.ANSWER, 2, b"null"),
    "huge JSON": struct.pack(">BQII", Sort.ANSWER, 1, 0xFFFFFFFF, 0),
    "huge bytes": struct.pack(">BQII", Sort.ANSWER, 1, 0, 0xFFFFFFFF),
    "more than was asked for": struct.pack(">BQII", Sort.ANSWER, 1, 4, 1001),
    "a huge failure": struct.pack(">BQII", Sort.FAILURE, 1, 1_000_000, 0),
    "output of nothing": frame(Sort.OUTPUT, 1, b"", b"x"),
    "no JSON": frame(Sort.ANSWER, 1, b"{]"),
    "no text": frame(Sort.ANSWER, 1, b"\xff\xfe\xff"),
    "nested too deep": frame(Sort.ANSWER, 1, b"[" * 999),
    "a failure with no name": frame(Sort.FAILURE, 1, b'["SystemExit", "x"]'),
    "a failure of another kind": frame(Sort.FAILURE, 1, b'["annotations", "x"]'),
    "a failure that is none": frame(Sort.FAILURE, 1, b'{"x": 1}'),
    "a failure without words": frame(Sort.FAILURE, 1, b'["MissingError", 7]'),
    "a pong with a load": frame(Sort.PONG, 0, b"", b"x" * 1000),
}


@pytest.mark.parametrize("says", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("call", [LOOK, CHANGE], ids=["look", "change"])
async def test_a_peer_that_answers_nonsense_is_let_go_of(says: bytes, call: Call) -> None:
    peer = Scripted(says)
    link = Link(peer, "the host")

    async with asyncio.timeout(10):
        with pytest.raises(OutcomeUnknownError if call.changes else UnreachableError, match="the host was lost"):
            await link.made(call)

    assert link.lost
    assert peer.ended.is_set()
    assert peer.most <= PIECE
    with pytest.raises(UnreachableError):
        await link.made(LOOK)


async def test_an_error_comes_back_as_what_it_was_with_no_control_characters() -> None:
    link = Link(Scripted(frame(Sort.FAILURE, 1, json.dumps(["MissingError", "a\x1b[2J is not there"]).encode())), "it")

    with pytest.raises(MissingError, match=r"^a\[2J is not there$"):
        await link.made(LOOK)
    link.end("done")


async def test_more_output_than_may_be_under_way_is_not_taken() -> None:
    block = frame(Sort.OUTPUT, 1, b"", b"x" * (WINDOW // 4))
    taken = []
    link = Link(Scripted(block * 5), "the host")

    with pytest.raises(OutcomeUnknownError):
        await link.made(Call("run", changes=True, output=lambda piece, _: taken.append(len(piece))))

    assert sum(taken) == WINDOW


async def test_a_peer_that_says_nothing_any_more_is_given_up() -> None:
    peer = Scripted(b"")
    link = Link(peer, "the host", silence_s=0.2, ping_s=0.05)

    with pytest.raises(UnreachableError, match="nothing came for"):
        await link.made(LOOK)

    assert peer.heard.count(packed(Sort.PING)) > 1


async def test_a_peer_that_does_not_end_what_is_called_off_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.toolbox.remote.link.CALLED_OFF_S", 0.1)
    peer = Scripted(b"")
    link = Link(peer, "the host")
    call = asyncio.create_task(link.made(CHANGE))
    await peer.called.wait()

    call.cancel()
    with pytest.raises(OutcomeUnknownError, match="whether it was done is not known"):
        await call

    assert link.lost == "it did not end what was called off"


async def test_commands_leave_room_for_every_other_call() -> None:
    class Answering(Scripted):
        async def write(self, content: bytes) -> None:
            if b'"stat"' in content:
                await super().write(content)

    peer = Answering(frame(Sort.ANSWER, IN_FLIGHT + 1, b"null"))
    link = Link(peer, "the host")
    run = Call("run", changes=True, output=lambda _piece, _took: None)
    commands = [asyncio.create_task(link.made(run)) for _ in range(2 * IN_FLIGHT)]
    for _ in range(3):
        await asyncio.sleep(0)

    async with asyncio.timeout(10):
        assert await link.made(LOOK) == (None, b"")

    link.end("done")
    assert all(isinstance(one, OperationError) for one in await asyncio.gather(*commands, return_exceptions=True))


async def test_a_call_that_is_too_large_is_refused_in_a_sentence() -> None:
    link = Link(Scripted(b""), "the host")
    with pytest.raises(OperationError, match="more than can be sent at once"):
        await link.made(Call("run", {"command": "x" * MAX_WORDS}))
    link.end("done")


async def test_what_was_called_off_and_done_all_the_same_is_answered_as_done() -> None:
    peer = Scripted(b"")
    link = Link(peer, "the host")
    call = asyncio.create_task(link.made(CHANGE))
    await peer.called.wait()

    call.cancel()
    peer.says = frame(Sort.ANSWER, 1, b"null")

    assert await call == (None, b"")
    link.end("done")


PLACE = ["/srv", ["a"], ""]
WRONG: list[tuple[Callable[[Any], Any], list[Any]]] = [
    (answers.nothing, [0, False, ""]),
    (answers.yes, [0, 1, None, "true"]),
    (answers.number, [-1, 1.0, True, "1", None, 1 << 70]),
    (answers.text, [1, None, ["a"], "x" * 100_000]),
    (answers.record, [None, [], "x"]),
    (answers.entry, [None, ["a", "file", 1], ["a/b", "file", 1, 1], ["a", "door", 1, 1], ["a", "file", "1", 1]]),
    (answers.entry, [["a", "file", 1, 0o10000], ["..", "file", 1, 1], ["a\0", "file", 1, 1], ["a", ["file"], 1, 1]]),
    (answers.entries, [{}, [[".", "directory", 0, 0]]]),
    (lambda words: answers.place(words, ROOTS), [None, ["/etc", [], ""], ["/srv", [".."], ""], ["/srv", ["a/b"], ""]]),
    (lambda words: answers.place(words, ROOTS), [["/srv", "ab/c", ""], [["/srv"], [], ""], ["/srv", [""], ""]]),
    (lambda words: answers.snapshot(words, b"", ROOTS), [None, [PLACE, 1, 0, []], [PLACE, True, 0, [["/", [], ""]]]]),
    (lambda words: answers.tree(words, ROOTS, 1), [None, [PLACE, "file", "t", ["a", "b"], 1, 1]]),
    (answers.ended, [None, [0, "SIGKILL\n", 0.0, False, False], [0, "", "soon", False, False]]),
    (answers.ended, [[0, "", float("nan"), False, False], [0, "", 1.0, 0, False], ["0", "", 1.0, False, False]]),
    (lambda words: answers.lines(words, 1, 1), [None, [], [[[1, "a"], [2, "b"]]], [[["1", "a"]]], [[[1]]]]),
    (lambda words: answers.roots(words, 1), [None, [], ["srv"], ["/a", "/b", "/c"], ["/a\0"]]),
]


@pytest.mark.parametrize(("read", "words"), [(read, one) for read, several in WRONG for one in several])
def test_an_answer_of_another_form_is_refused(read: Callable[[Any], Any], words: Any) -> None:
    with pytest.raises(BadFrameError):
        read(words)


# -- the far end --


async def started(directory: Path) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", COMMAND),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=directory,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(shipment())
    async with asyncio.timeout(30):
        assert await process.stdout.readuntil(READY) == READY
    return process


def asked(number: int, **words: Any) -> bytes:
    return packed(Sort.CALL, number, words)


async def answer_of(process: asyncio.subprocess.Process, *frames: bytes) -> tuple[int, int, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(frames))
    async with asyncio.timeout(30):
        sort, number, words, content = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
        found = json.loads(await process.stdout.readexactly(words)) if words else None
        await process.stdout.readexactly(content)
    return sort, number, found


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(30):
        await process.communicate()
    return process.returncode or 0


@pytest.mark.parametrize(
    "says",
    [
        b"garbage, and enough of it to be a head",
        HEADER.pack(Sort.CALL, 1, 0xFFFFFFFF, 0),
        HEADER.pack(Sort.CALL, 1, 0, 0xFFFFFFFF),
        frame(Sort.ANSWER, 1),
        frame(Sort.CALL, 1, b"{]"),
        frame(Sort.CALL, 1, b"{}")[:-1],
    ],
)
async def test_the_far_end_ends_with_what_makes_no_sense(tmp_path: Path, says: bytes) -> None:
    process = await started(tmp_path)
    assert process.stdin is not None

    process.stdin.write(says)
    process.stdin.close()

    assert await ended(process) == 0


async def test_the_far_end_answers_what_it_does_not_know_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    process = await started(tmp_path)
    begin = {"roots": [f"{tmp_path}/root"], "state_dir": f"{tmp_path}/state", "keep_environment": [], "toolbox": "ab"}

    assert (await answer_of(process, asked(1, call="stat")))[0] == Sort.FAILURE
    assert (await answer_of(process, packed(Sort.CALL, 2)))[0] == Sort.FAILURE
    assert (await answer_of(process, asked(3, call="begin", **begin)))[0] == Sort.ANSWER
    unknown: list[dict[str, Any]] = [
        {"call": "__class__"},
        {"call": "as_before"},
        {"call": ["stat"]},
        {"call": "stat"},
        {"call": "stat", "place": "x"},
        {"call": "stat", "place": ["/etc", ["passwd"], ""]},
        {"call": "read", "file": 9, "given": "", "offset": 0, "count": 1},
        {"call": "save", "id": "../../x", "record": {}},
        {"call": "run", "command": "true", "cwd": ["/etc", [], ""], "timeout_s": 1},
    ]
    for number, words in enumerate(unknown, start=10):
        assert (await answer_of(process, asked(number, **words)))[:2] == (Sort.FAILURE, number)
    assert (await answer_of(process, packed(Sort.CANCEL, 99), packed(Sort.PING)))[0] == Sort.PONG
    assert process.stdin is not None
    process.stdin.close()
    assert await ended(process) == 0
    assert not list((tmp_path / "state").glob("end-*"))


async def test_a_command_waits_for_a_reader_that_is_slow(tmp_path: Path) -> None:
    """The near end takes nothing: no more comes than was agreed on, and the command waits, in the pipe's own way."""
    (tmp_path / "root").mkdir()
    process = await started(tmp_path)
    assert process.stdout is not None
    begin = {"roots": [f"{tmp_path}/root"], "state_dir": f"{tmp_path}/state", "keep_environment": [], "toolbox": "ab"}
    await answer_of(process, asked(1, call="begin", **begin))
    command = f"head -c 8000000 /dev/zero; echo done > {tmp_path}/done"
    run = asked(2, call="run", command=command, cwd=[f"{tmp_path}/root", [], ""], timeout_s=60)

    came = 0
    sort, _, _ = await answer_of(process, run)
    try:
        async with asyncio.timeout(2):
            while sort == Sort.OUTPUT:
                head = await process.stdout.readexactly(HEADER.size)
                sort, _, _, content = HEADER.unpack(head)
                came += len(await process.stdout.readexactly(content))
    except TimeoutError:
        pass
    assert came < WINDOW
    assert not (tmp_path / "done").exists()

    assert process.stdin is not None
    process.stdin.close()
    assert await ended(process) == 0


@pytest.mark.parametrize("goes", ["called off", "asked to end"])
async def test_a_command_does_not_outlive_its_far_end_however_often_it_is_ended(tmp_path: Path, goes: str) -> None:
    (tmp_path / "root").mkdir()
    process = await started(tmp_path)
    assert process.stdin is not None
    begin = {"roots": [f"{tmp_path}/root"], "state_dir": f"{tmp_path}/state", "keep_environment": [], "toolbox": "ab"}
    await answer_of(process, asked(1, call="begin", **begin))
    command = "trap '' TERM; echo $$; while :; do read -t 300 <> <(:); done"
    process.stdin.write(asked(2, call="run", command=command, cwd=[f"{tmp_path}/root", [], ""], timeout_s=60))
    assert process.stdout is not None
    async with asyncio.timeout(30):
        head = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
        pid = int(await process.stdout.readexactly(head[3]))

    if goes == "called off":
        process.stdin.write(packed(Sort.CANCEL, 2) + packed(Sort.CANCEL, 2))
    else:
        process.send_signal(signal.SIGTERM)
        process.stdin.write(asked(3, call="run", command="sleep 300", cwd=[f"{tmp_path}/root", [], ""], timeout_s=60))
    process.stdin.close()

    assert await ended(process) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_goes_there_is_source_and_nothing_else() -> None:
    assert b".pyc" not in archived()
    assert b"import asyncssh" not in archived()
    assert len(archived()) < 200_000


def test_errors_of_both_ends_are_the_same() -> None:
    for name in ("OperationError", "OutsideRootsError", "ChangedError", "OutcomeUnknownError", "RootError"):
        error = answers.failure([name, "words"])
        assert (type(error).__name__, str(error)) == (name, "words")
        assert isinstance(error, OperationError)
