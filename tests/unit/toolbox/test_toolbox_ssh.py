"""The toolbox on another host: where it works, and what is left when the connection is lost."""

import asyncio
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from interlock.toolbox.errors import OperationError, OutcomeUnknownError, StorageError, UnreachableError
from interlock.toolbox.expressions import expression
from interlock.toolbox.operations import Place, SearchBudget
from interlock.toolbox.remote.link import Peer
from interlock.toolbox.remote.near import RemoteFiles, operations_of
from interlock.toolbox.remote.one_end import only_end
from interlock.toolbox.remote.reaching import Reaching, Wanted
from interlock.toolbox.remote.ssh import dial, ssh_operations
from interlock.toolbox.working import Workplace as Asked
from interlock.toolbox.working import working
from ssh_servers import SshServer
from toolbox_workplaces import Workplace, box_of, ssh_workplace
from waiting import eventually_blocking

pytestmark = pytest.mark.req("BOX-1")


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def whole_number(path: Path) -> int:
    eventually_blocking(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


# -- where it works --


def test_roots_are_absolute_and_the_state_lies_with_the_user_there(ssh_server: SshServer, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="has to be an absolute path on that host"),
        ssh_operations(ssh_server.target, Wanted(["here"]), config=ssh_server.config),
    ):
        pass
    address = f"{ssh_server.target}:{ssh_server.target.port}"
    with working(Asked([tmp_path], ssh=address, ssh_config=ssh_server.config)) as operations:
        operations.vault.save("0123456789abcdef", {"kept": True})
    home = ssh_server.config.parent
    assert (home / ".local/state/interlock/toolbox/records/0123456789abcdef.json").exists()


async def test_commands_there_get_the_allowed_environment_alone(ssh: Workplace) -> None:
    text = await box_of(ssh).text("bash", command="env; pwd")

    assert "PATH=" in text
    assert "OPERATORS_TOKEN" not in text
    assert "SSH_" not in text
    assert text.endswith(f"{ssh.root}\n")


def test_a_large_file_is_read_in_pieces_from_anywhere(ssh: Workplace) -> None:
    content = os.urandom(3 * 1024 * 1024 + 17)
    ssh.put("big.bin", content)

    with ssh.files.open(ssh.at("big.bin")) as file:
        head = file.read(1000)
        assert file.seek(0, os.SEEK_END) == len(content)
        file.seek(2 * 1024 * 1024)
        middle = file.read(500_000)
        file.seek(0)
        assert file.read() == content

    assert (head, middle) == (content[:1000], content[2 * 1024 * 1024 :][:500_000])


def test_names_that_are_no_text_survive_the_way(ssh: Workplace) -> None:
    name = b"caf\xe9".decode(errors="surrogateescape")
    ssh.put(name, b"x")

    assert [entry.name for entry in ssh.files.entries(ssh.at("."))] == [name]
    assert ssh.content(name) == b"x"


def test_a_search_there_can_be_stopped(ssh: Workplace) -> None:
    ssh.put("a.txt", b"a" * 60 + b"b\n")
    stopped = threading.Event()
    budget = SearchBudget(10, time.monotonic() + 60, stopped.is_set)
    threading.Timer(0.3, stopped.set).start()
    slow = expression("(?:(?:(?:a{1,40}){1,40}){1,40}){1,40}c")

    with suppress(OperationError):  # ripgrep needs no time for it, Python would take for ever
        ssh.operations.search.lines([ssh.at("a.txt")], slow, budget)

    assert time.monotonic() < budget.until - 30


# -- what is left --


async def test_cancelling_waits_until_the_command_has_ended_there(ssh: Workplace, tmp_path: Path) -> None:
    started = asyncio.Event()
    command = f"sleep 300 & echo $! > {tmp_path}/pid; echo started; wait"
    running = asyncio.create_task(
        ssh.operations.shell.run(command, cwd=ssh.at("."), timeout_s=60, on_output=lambda _: started.set())
    )
    async with asyncio.timeout(20):
        await started.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not alive(whole_number(tmp_path / "pid"))
    assert ssh.files.entries(ssh.at(".")) == []


async def test_a_lost_connection_ends_the_command_and_nobody_says_that_it_was_done(
    own_server: SshServer, tmp_path: Path
) -> None:
    with ssh_workplace(tmp_path, own_server) as there:
        box = box_of(there)
        command = f"(trap '' TERM; sleep 300) & echo $! > {tmp_path}/pid; echo begun; wait"
        running = asyncio.create_task(box.result("bash", command=command))
        pid = await asyncio.to_thread(whole_number, tmp_path / "pid")

        await asyncio.to_thread(own_server.kill_connections)
        async with asyncio.timeout(20):
            result = await running

        assert result.is_error
        assert "whether it was done is not known" in result.output
        assert result.undo.irreversible
        await asyncio.to_thread(eventually_blocking, lambda: not alive(pid))
        assert await box.text("bash", command="echo again") == "again\n"


def test_a_replacement_that_is_cut_off_leaves_the_old_file_or_the_new(own_server: SshServer, tmp_path: Path) -> None:
    old, new = b"o" * 20_000_000, b"n" * 20_000_000
    with ssh_workplace(tmp_path, own_server) as there:
        for round_ in range(4):
            there.put("big.txt", old)
            before = there.files.snapshot(there.at("big.txt"))
            timer = threading.Timer(0.05 + 0.15 * round_, own_server.kill_connections)
            timer.start()
            try:
                there.files.replace(before, new, 0o644)
            except OutcomeUnknownError as error:
                assert "look before you do it again" in str(error)  # noqa: PT017 -- it may also have been in time
            timer.join()

            found = eventually_there(there, "big.txt")
            assert found in (old, new)
            names = [entry.name for entry in there.files.entries(there.at("."))]
            assert names == ["big.txt"]


def test_what_only_looks_says_that_nothing_changed_and_the_next_call_connects_again(
    own_server: SshServer, tmp_path: Path
) -> None:
    with ssh_workplace(tmp_path, own_server) as there:
        there.put("a.txt", b"a")
        with there.files.open(there.at("a.txt")):
            own_server.kill_connections()
        eventually_blocking(lambda: not own_server.connections)

        assert eventually_there(there, "a.txt") == b"a"


def test_a_change_of_unknown_outcome_can_be_undone_either_way(own_server: SshServer, tmp_path: Path) -> None:
    with ssh_workplace(tmp_path, own_server) as there:
        box = box_of(there)
        there.put("a.txt", b"old\n")
        files = there.files
        assert isinstance(files, RemoteFiles)
        real = type(files).replace

        for done in (False, True):

            def lose(snapshot: Any, content: bytes, mode: int, *, done: bool = done) -> None:
                if done:
                    real(files, snapshot, content, mode)
                raise OutcomeUnknownError("the connection was lost; it is not known")

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(files), "replace", staticmethod(lose))
                result = asyncio.run(box.result("write", path="a.txt", content="new\n"))
            assert result.is_error
            assert there.content("a.txt") == (b"new\n" if done else b"old\n")
            assert not asyncio.run(box.undo(result)).is_error
            assert there.content("a.txt") == b"old\n"


def test_after_failures_nobody_tries_again_at_once(tmp_path: Path) -> None:
    dialled = []

    async def refused() -> Peer:
        dialled.append(time.monotonic())
        raise UnreachableError("the host is away")

    reaching = Reaching("the host", refused, Wanted([str(tmp_path)]))
    with pytest.raises(UnreachableError, match=r"^the host is away$"), reaching.running():
        pass
    assert len(dialled) == 1


def test_a_host_that_is_away_is_not_asked_with_every_call(own_server: SshServer, tmp_path: Path) -> None:
    dialled = []

    async def counted() -> Peer:
        dialled.append(1)
        if len(dialled) > 1:
            raise UnreachableError("the host is away")
        return await dial(own_server.target, own_server.config)

    reaching = Reaching("the host", counted, Wanted([str(tmp_path)], str(tmp_path / "../state")))
    with reaching.running():
        files = operations_of(reaching).files
        place = Place(files.roots[0])
        own_server.kill_connections()
        said: list[str] = []
        while len(said) < 5:
            try:
                files.stat(place)
            except UnreachableError as error:
                said.append(str(error))

    assert len(dialled) == 2
    assert said[-1].startswith("the host is away; it is not tried again for")


def test_roots_that_lead_elsewhere_by_now_are_not_served(own_server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    link = tmp_path / "link"
    link.symlink_to("one")
    with ssh_operations(
        own_server.target, Wanted([str(link)], str(tmp_path / "state")), config=own_server.config
    ) as operations:
        link.unlink()
        link.symlink_to("two")
        own_server.kill_connections()
        eventually_blocking(lambda: not own_server.connections)

        with pytest.raises(UnreachableError, match=r"lead elsewhere than before|was lost"):
            operations.files.entries(Place(str(link)))


def test_one_far_end_at_a_time_serves_a_toolbox(tmp_path: Path) -> None:
    with only_end(tmp_path, "ab"):
        with pytest.raises(StorageError, match="has not ended there yet"), only_end(tmp_path, "ab", wait_s=0.2):
            pass
        with only_end(tmp_path, "cd"):
            pass
    with only_end(tmp_path, "ab"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_running_when_the_toolbox_ends(own_server: SshServer, tmp_path: Path) -> None:
    with ssh_workplace(tmp_path, own_server) as there:
        there.put("a.txt", b"a")
        assert there.content("a.txt") == b"a"

    eventually_blocking(lambda: not list((tmp_path / "state").glob("end-*")))


async def test_over_openssh_a_command_streams_and_ends_with_its_connection(openssh: SshServer, tmp_path: Path) -> None:
    said: list[bytes] = []
    with ssh_workplace(tmp_path, openssh) as there:
        command = f"echo begun; sleep 300 & echo $! > {tmp_path}/pid; wait"
        shell, cwd = there.operations.shell, there.at(".")
        running = asyncio.create_task(shell.run(command, cwd=cwd, timeout_s=60, on_output=said.append))
        pid = await asyncio.to_thread(whole_number, tmp_path / "pid")
        text = await box_of(there).text("bash", command="seq 1 100000 | tail -1")
    with pytest.raises(OperationError):
        await running

    assert (said, text) == ([b"begun\n"], "100000\n")
    await asyncio.to_thread(eventually_blocking, lambda: not alive(pid))


def eventually_there(there: Workplace, path: str) -> bytes:
    """The content, once the host is reached again and what was begun there has ended."""
    found: list[bytes] = []

    def look() -> bool:
        with suppress(StorageError):
            found.append(there.content(path))
        return bool(found)

    eventually_blocking(look)
    return found[-1]
