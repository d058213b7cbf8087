"""A connection that is lost, slow or let go of, over pipes to the real far end: what was done is what is said."""

import asyncio
import os
import signal
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from interlock.toolbox.__main__ import main
from interlock.toolbox.errors import OutcomeUnknownError, UnreachableError
from interlock.toolbox.local import local_operations
from interlock.toolbox.operations import Operations, Place
from interlock.toolbox.remote.far_calls import Asked, FarCalls
from interlock.toolbox.remote.frames import READY, place_words
from interlock.toolbox.remote.link import Call
from interlock.toolbox.remote.near import operations_of
from interlock.toolbox.remote.reaching import Begun, Reaching, Wanted
from interlock.toolbox.remote.shipping import COMMAND, shipment
from interlock.v1.provider_pb2 import PendingResolution
from interlock.v1.tool_provider_service_pb2 import ApplyPendingRequest
from toolbox_workplaces import Workplace, box_of

pytestmark = pytest.mark.req("BOX-1")


class Piped:
    """A far end that is a process of this machine."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._source, self._target = process, process.stdout, process.stdin

    async def read(self, most: int) -> bytes:
        return await self._source.read(most)

    async def write(self, content: bytes) -> None:
        self._target.write(content)
        await self._target.drain()

    def abort(self) -> None:
        """Its input ends, as when a connection is lost; what it still says is read by nobody."""
        self._target.close()

    async def gone(self) -> None:
        await self.process.wait()
        self.process._transport.close()  # type: ignore[attr-defined]  # nothing else closes what nobody reads to its end


@dataclass(slots=True)
class There:
    """A root of a far end that can be reached anew."""

    root: Path
    state: Path
    peers: list[Piped] = field(default_factory=list)
    away: bool = False

    async def dial(self) -> Piped:
        if self.away:
            raise UnreachableError("the far end is away")
        for before in self.peers:
            await before.gone()
        process = await asyncio.create_subprocess_exec("sh", "-c", COMMAND, stdin=PIPE, stdout=PIPE)
        peer = Piped(process)
        await peer.write(shipment())
        heard = b""
        while READY not in heard:
            heard += await peer.read(65536)
        self.peers.append(peer)
        return peer

    def reaching(self) -> Reaching:
        return Reaching("the far end", self.dial, Wanted([str(self.root)], str(self.state)))

    def at(self, name: str) -> Place:
        return Place(str(self.root), (name,), name)

    @contextmanager
    def operations(self) -> Iterator[tuple[Reaching, Operations]]:
        reaching = self.reaching()
        with reaching.running():
            yield reaching, operations_of(reaching)

    async def ended(self) -> None:
        for peer in self.peers:
            peer.abort()
            await peer.gone()


@pytest.fixture
def there(tmp_path: Path) -> There:
    (tmp_path / "root").mkdir()
    return There((tmp_path / "root").resolve(), tmp_path / "state")


def lost(reaching: Reaching) -> None:
    """The connection is lost, and that is known when this returns."""
    reaching.broken("the network went away")
    known = threading.Event()
    reaching.soon(known.set)
    assert known.wait(10)


def test_a_file_that_was_open_is_no_other_file_after_a_reconnect(there: There) -> None:
    (there.root / "open.bin").write_bytes(b"o" * 1_000_000)
    (there.root / "other.bin").write_bytes(b"x" * 1_000_000)
    with there.operations() as (reaching, operations):
        file = operations.files.open(there.at("open.bin"))
        assert file.read(1000) == b"o" * 1000
        lost(reaching)
        other = operations.files.open(there.at("other.bin"))

        with pytest.raises(UnreachableError, match="was lost"):
            file.read()
        file.close()

        assert other.read() == b"x" * 1_000_000
        other.close()
    assert len(there.peers) == 2


def test_no_far_end_numbers_its_files_as_another_does(there: There) -> None:

    (there.root / "open.bin").write_bytes(os.urandom(1_000_000))
    operations = local_operations([there.root], there.state)
    asked = Asked({"place": place_words(there.at("open.bin"))}, b"", threading.Event())
    numbers = set[int]()
    for _ in range(3):
        calls = FarCalls(operations)
        number = calls.answer("open", asked)[0][0]
        calls.answer("close", Asked({"file": number}, b"", threading.Event()))
        numbers.add(number)

    assert len(numbers) == 3


def stopped(there: There) -> None:
    """The far end takes what it is sent, and does nothing with it yet."""
    os.kill(there.peers[-1].process.pid, signal.SIGSTOP)


def going_on(there: There) -> None:
    os.kill(there.peers[-1].process.pid, signal.SIGCONT)


def test_a_change_that_took_too_long_and_was_done_is_no_failure(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.toolbox.remote.reaching.CALL_S", 0.01)
    (there.root / "old").write_bytes(b"x")
    with there.operations() as (_, operations):
        stopped(there)
        call_off = Begun.call_off

        def going_on_when_called_off(begun: Begun) -> None:
            call_off(begun)
            going_on(there)

        monkeypatch.setattr(Begun, "call_off", going_on_when_called_off)
        operations.files.rename(there.at("old"), there.at("new"))

    assert [path.name for path in there.root.iterdir()] == ["new"]


def test_nobody_knows_of_a_change_that_was_called_off_and_not_answered(
    there: There, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.toolbox.remote.reaching.CALL_S", 0.01)
    monkeypatch.setattr("interlock.toolbox.remote.link.CALLED_OFF_S", 0.01)
    (there.root / "old").write_bytes(b"x")
    with there.operations() as (_, operations):
        stopped(there)
        try:
            with pytest.raises(OutcomeUnknownError, match="whether it was done is not known"):
                operations.files.rename(there.at("old"), there.at("new"))
        finally:
            going_on(there)


def test_whoever_goes_on_calling_does_not_hold_up_the_end_and_is_told(there: There) -> None:
    (there.root / "a").write_bytes(b"x")
    told: list[str] = []

    def call(operations: Operations) -> None:
        while True:
            try:
                operations.files.stat(there.at("a"))
            except UnreachableError as error:
                if str(error).startswith("the toolbox ends"):
                    told.append(str(error))
                    return

    with there.operations() as (_, operations):
        threads = [threading.Thread(target=call, args=(operations,), daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(20)

    assert len(told) == 8
    assert len(there.peers) == 1


def test_what_the_loop_never_came_to_is_refused_at_the_end(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Begun] = []
    with there.operations() as (reaching, _):
        join = reaching._thread.join

        def join_and_begin() -> None:
            join()
            reaching._ending = False
            late.append(reaching.begin(Call("stat")))

        monkeypatch.setattr(reaching._thread, "join", join_and_begin)

    with pytest.raises(UnreachableError, match="the toolbox ends"):
        late[0].answer.result(0)
    late[0].call_off()


@pytest.mark.req("BOX-7")
@pytest.mark.parametrize("lost_at", ["entries", "open", "read_link"])
async def test_a_search_whose_host_is_lost_fails_and_is_not_complete(
    local: Workplace, monkeypatch: pytest.MonkeyPatch, lost_at: str
) -> None:
    local.put("below/.gitignore", b"a\n")
    local.put("below/a.txt", b"a\n")
    local.put_link("below/link", "a.txt")
    real = getattr(local.files, lost_at)

    def lose(place: Place) -> Any:
        if "below" in place.parts:
            raise UnreachableError("the connection was lost")
        return real(place)

    monkeypatch.setattr(type(local.files), lost_at, staticmethod(lose))

    assert "the connection was lost" in await box_of(local).error("list", path=".", depth=3)


def test_a_root_that_is_gone_after_a_reconnect_is_one_that_cannot_be_reached(there: There) -> None:
    with there.operations() as (reaching, operations):
        lost(reaching)
        there.root.rename(there.root.with_name("elsewhere"))

        with pytest.raises(UnreachableError, match="does not serve its roots any more"):
            operations.files.stat(there.at("a"))
        asyncio.run_coroutine_threadsafe(there.ended(), reaching._loop).result(30)


def test_a_state_directory_that_cannot_be_made_is_a_sentence_of_the_command(
    there: There, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(there.root), "--state-dir", "/proc/none/state"]) == 3
    assert capsys.readouterr().err.startswith("error: the state directory /proc/none/state")


@pytest.mark.req("BOX-8")
async def test_a_batch_that_a_lost_connection_left_half_done_says_so_and_is_taken_back_with_the_next_call(
    local: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_of(local)
    for name in ("a", "b"):
        local.put(name, name.encode())
    before = box.tree()
    planned = await box.result("batch_rename", renames=[{"path": "a", "new_path": "y"}, {"path": "b", "new_path": "z"}])
    real = local.files.rename
    renamed: list[Place] = []

    def lose(source: Place, target: Place) -> None:
        if renamed:
            raise OutcomeUnknownError("the connection was lost; whether it was done is not known")
        renamed.append(target)
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(local.files), "rename", staticmethod(lose))
        asked = PendingResolution(token=planned.pending_action.token, source_tool="batch_rename", reason="yes")
        answer = await box.provider.apply_pending(ApplyPendingRequest(resolution=asked))
    result = answer.result

    assert result.is_error
    assert "Nothing was renamed" not in result.output
    assert renamed[0].parts[-1] in result.output
    assert result.undo.tool == "restore"
    assert (await box.text("list")).splitlines() == ["a (1 byte)", "b (1 byte)"]
    assert not (await box.undo(result)).is_error
    assert box.tree() == before
