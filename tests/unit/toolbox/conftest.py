"""What the toolbox tests share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ssh_servers import NoOpenSshError, SshServer, asyncssh_server, openssh_server
from toolbox_workplaces import Box, Workplace, box_of, local_workplace, memory_workplace, ssh_workplace


@pytest.fixture(params=["local", "memory", "ssh"])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workplace]:
    if request.param == "local":
        yield local_workplace(tmp_path)
    elif request.param == "memory":
        yield memory_workplace()
    else:
        with ssh_workplace(tmp_path, request.getfixturevalue("ssh_server")) as made:
            yield made


@pytest.fixture(scope="session")
def ssh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with asyncssh_server(tmp_path_factory.mktemp("ssh")) as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[SshServer]:
    """A server of this test's own, for what would get in others' way."""
    (tmp_path / "ssh").mkdir()
    with asyncssh_server(tmp_path / "ssh") as server:
        yield server


@pytest.fixture(scope="session")
def openssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(openssh_server(tmp_path_factory.mktemp("openssh")))
        except NoOpenSshError as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture
def ssh(tmp_path: Path, ssh_server: SshServer) -> Iterator[Workplace]:
    with ssh_workplace(tmp_path, ssh_server) as made:
        yield made


@pytest.fixture
def local(tmp_path: Path) -> Workplace:
    return local_workplace(tmp_path)


@pytest.fixture
def box(workplace: Workplace) -> Box:
    return box_of(workplace)


@pytest.fixture
def local_box(local: Workplace) -> Box:
    return box_of(local)
