"""The toolbox on another host: which hosts and keys are trusted, and what is said of others."""

from pathlib import Path
from typing import Any

import asyncssh
import pytest
from interlock.toolbox.errors import UnreachableError
from interlock.toolbox.remote.reaching import Wanted
from interlock.toolbox.remote.ssh import Target, ssh_operations, target
from ssh_servers import SshServer, asyncssh_server

pytestmark = pytest.mark.req("BOX-1")


def refusal_of(server: SshServer, root: Path, **other: Any) -> str:
    wanted = Wanted([str(root)], str(root / "../state"))
    with (
        pytest.raises(UnreachableError) as refusal,
        ssh_operations(server.target, wanted, **{"config": server.config, **other}),
    ):
        pass
    return str(refusal.value)


def public_key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()


@pytest.mark.req("SEC-3")
@pytest.mark.parametrize("known", ["", "another"])
def test_a_host_whose_key_is_not_the_known_one_is_refused(own_server: SshServer, tmp_path: Path, known: str) -> None:
    lines = f"[127.0.0.1]:{own_server.target.port} {public_key()}" if known else ""
    own_server.known_hosts.write_text(lines)

    assert "is not known: its key is not in known_hosts" in refusal_of(own_server, tmp_path)


def test_verification_cannot_be_turned_off(own_server: SshServer, tmp_path: Path) -> None:
    without = tmp_path / "config"
    without.write_text(own_server.config.read_text().replace(str(own_server.known_hosts), "none"))
    own_server.known_hosts.write_text("")

    assert "its key would not be verified" in refusal_of(own_server, tmp_path, config=without)
    without.write_text(own_server.config.read_text() + "StrictHostKeyChecking no\n")
    assert "is not known" in refusal_of(own_server, tmp_path, config=without)


def test_verification_of_a_jump_host_cannot_be_turned_off(own_server: SshServer, tmp_path: Path) -> None:
    jumping = tmp_path / "config"
    jump = f"Host jump\n  HostName 127.0.0.1\n  Port {own_server.target.port}\n  UserKnownHostsFile none\n"
    jumping.write_text(f"{jump}Host {own_server.target.host}\n  ProxyJump jump\n{own_server.config.read_text()}")

    refused = refusal_of(own_server, tmp_path, config=jumping)

    assert "the key of a host of ProxyJump would not be verified" in refused


def test_a_key_that_the_host_does_not_accept_is_refused_and_nobody_is_asked(
    own_server: SshServer, tmp_path: Path
) -> None:
    key = own_server.config.parent / "key"
    key.unlink()
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)

    assert "accepts none of the keys" in refusal_of(own_server, tmp_path)


def test_a_host_that_is_not_there_is_said_to_be_unreachable(own_server: SshServer, tmp_path: Path) -> None:
    where = Target("127.0.0.1", "worker", 1)

    with (
        pytest.raises(UnreachableError, match=r"worker@127\.0\.0\.1 cannot be reached"),
        ssh_operations(where, Wanted([str(tmp_path)]), config=own_server.config),
    ):
        pass


def test_a_host_without_python_is_told_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    with asyncssh_server(tmp_path / "ssh", path=str(tmp_path / "bin")) as server:
        assert "has no Python 3.11 or newer: install one there" in refusal_of(server, tmp_path)


def test_a_host_that_says_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").write_text("#!/bin/bash\necho welcome; echo no shells here >&2; exit 1\n")
    (tmp_path / "bin/sh").chmod(0o755)
    with asyncssh_server(tmp_path / "ssh", path=str(tmp_path / "bin")) as server:
        assert "could not be made to start Python" in refusal_of(server, tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host", Target("host")),
        ("me@build.example:2222", Target("build.example", "me", 2222)),
        ("me@[::1]:22", Target("::1", "me", 22)),
    ],
)
def test_a_target_is_read(text: str, expected: Target) -> None:
    assert target(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@host",
        "host:",
        "host:0",
        "host:70000",
        "-oProxyCommand=x",
        "a@-x",
        "host;id",
        "a b",
        "a:secret@host",
        "::1",
    ],
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not \[user@\]host\[:port\]"):
        target(text)


def test_openssh_is_verified_too(openssh: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    (tmp_path / "known").write_text(f"openssh.test {public_key()}\n")
    config.write_text(openssh.config.read_text().replace(str(openssh.known_hosts), str(tmp_path / "known")))

    assert "is not known: its key is not in known_hosts" in refusal_of(openssh, tmp_path, config=config)
