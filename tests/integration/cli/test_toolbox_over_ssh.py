"""An agent's calls through a gateway and a toolbox to another host, over SSH."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from running_programs import Place, place
from ssh_servers import SshServer, asyncssh_server
from waiting import eventually_blocking

pytestmark = pytest.mark.req("BOX-1")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with asyncssh_server(tmp_path_factory.mktemp("host")) as server:
        yield server


@pytest.fixture(scope="module")
def at(host: SshServer) -> Iterator[Place]:
    with place("--ssh", f"{host.target}:{host.target.port}", "--ssh-config", str(host.config)) as made:
        yield made


def content(at: Place, path: str) -> str:
    return (at.workspace / path).read_text()


@pytest.mark.req("PREV-1", "UNDO-2")
def test_a_file_there_is_read_edited_after_a_preview_and_given_back(at: Place, host: SshServer) -> None:
    (at.workspace / "a.txt").write_text("one\ntwo\n")

    assert "two" in at.run("call", "read", "path=a.txt", "--session", "s").stdout
    asked = at.run("call", "edit", "path=a.txt", "old_string=two", "new_string=2", "--session", "s")
    assert asked.exit_code == 4
    assert "-two\n+2" in asked.stdout
    assert content(at, "a.txt") == "one\ntwo\n"
    applied = at.run("resolve", "apply", "--session", "s", "--reason", "as meant")
    assert applied.exit_code == 0, applied.output
    assert content(at, "a.txt") == "one\n2\n"

    undone = at.run("rollback", "--session", "s", "--all", "--reason", "wrong idea")

    assert undone.exit_code == 0, undone.output
    assert content(at, "a.txt") == "one\ntwo\n"
    state = host.config.parent / ".local/state/interlock/toolbox"
    assert list((state / "records").iterdir())


def test_the_tools_stay_registered_while_the_connection_is_lost(at: Place, host: SshServer) -> None:
    (at.workspace / "b.txt").write_text("here\n")
    host.kill_connections()

    eventually_blocking(lambda: "here" in at.run("call", "read", "path=b.txt", "--session", "s2").stdout)

    assert at.provider_is_ready()


def test_paths_outside_are_refused_by_the_gateway_and_links_to_it_by_the_toolbox(at: Place, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("classified")
    (at.workspace / "out").symlink_to(tmp_path)

    for path in (f"{tmp_path}/secret.txt", "out/secret.txt", "../secret.txt"):
        ended = at.run("call", "read", f"path={path}", "--session", "s3")
        assert ended.exit_code == 1
        assert "classified" not in ended.output
