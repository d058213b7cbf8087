"""TLS from end to end, with the programs as people run them: agent, gateway, toolbox, each sure of the next."""

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import Authority
from interlock import Gateway, SyncGateway
from interlock.errors import GatewayUnavailableError
from interlock.tls import ClientTls
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.main import app
from running_programs import started
from typer.testing import CliRunner, Result

ID = "spiffe://example.org/{}"
TOOLBOX = """\
{{name: toolbox, address: "{toolbox}", tls: {{ca_file: ca.pem, cert_file: gateway.crt, key_file: gateway.key}}}}"""
CONFIG = """\
server:
  listen: ["unix:{{state}}/agent.sock", "127.0.0.1:0"]
  tls: {{cert_file: gateway.crt, key_file: gateway.key, client_ca_file: ca.pem}}
identity:
  mtls:
    principals:
      - {{spiffe: "spiffe://example.org/agent", roles: [agent]}}
      - {{spiffe: "spiffe://example.org/operator", roles: [operator, auditor]}}
metrics: {{listen: ""}}
policy: {{workers: 1, timeout_s: 5}}
workspace_roots: ["{root}"]
providers: [{provider}]
"""


@dataclass(frozen=True)
class Way:
    """Where the gateway is, and the certificates of everybody."""

    address: str
    directory: Path

    def tls(self, name: str) -> ClientTls:
        """What `name` shows."""
        return ClientTls(self.directory / "ca.pem", self.directory / f"{name}.crt", self.directory / f"{name}.key")

    def options(self, name: str) -> tuple[str, ...]:
        """The same, for commands."""
        files = {"--ca-file": "ca.pem", "--cert-file": f"{name}.crt", "--key-file": f"{name}.key"}
        return "--address", self.address, *(word for key, file in files.items() for word in (key, self.at(file)))

    def at(self, file: str) -> str:
        return str(self.directory / file)


@pytest.fixture(scope="module")
def way() -> Iterator[Way]:
    """`interlock toolbox` for the gateway alone, and `interlock serve` for those with certificates."""
    with (
        tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as made,
        started_in(Path(made)) as running,
    ):
        yield running


@contextmanager
def started_in(directory: Path) -> Iterator[Way]:
    authority = Authority()
    (directory / "ca.pem").write_bytes(authority.pem)
    (directory / "other.pem").write_bytes(Authority("Another").pem)
    for name in ("gateway", "toolbox", "agent", "operator", "stranger"):
        authority.leaf(ID.format(name), hosts=("127.0.0.1",)).written(directory, name)
    root = directory / "workspace"
    root.mkdir()
    (root / "note.txt").write_text("a note\n", encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    env |= {
        "HOME": str(directory),
        "XDG_STATE_HOME": str(directory / "xdg"),
        "INTERLOCK__STATE__DIR": str(directory / "state"),
    }
    serving = ("--cert-file", "toolbox.crt", "--key-file", "toolbox.key", "--client-ca-file", "ca.pem")
    files = [str(directory / one) if one.endswith((".crt", ".key", ".pem")) else one for one in serving]
    toolbox = ("toolbox", "--root", str(root), "--listen", "127.0.0.1:0", *files, "--client", ID.format("gateway"))
    with started(*toolbox, env=env, log=directory / "toolbox.log") as tools:
        provider = TOOLBOX.format(toolbox=tools.ready.split()[3].rstrip(";"))
        config = directory / "interlock.yaml"
        config.write_text(CONFIG.format(root=root, provider=provider), encoding="utf-8")
        gateway = ("serve", "--config", str(config), "-o", "json")
        with started(*gateway, env=env, log=directory / "serve.log") as program:
            yield Way(json.loads(program.ready)["agents"][1], directory)


def run(*arguments: str, **env: str) -> Result:
    cleared: dict[str, str | None] = {name: None for name in os.environ if name.startswith("INTERLOCK_")}
    return CliRunner().invoke(app, arguments, env={**cleared, **env})


@pytest.mark.req("AUTH-1", "TOOL-4")
async def test_an_agent_calls_a_tool_and_every_connection_on_the_way_is_encrypted_and_known(way: Way) -> None:
    async with Gateway(way.address, tls=way.tls("agent")) as gateway, gateway.session() as session:
        assert "a note" in (await session.call("read", {"path": "note.txt"})).text
        changed = await session.call("write", {"path": "new.txt", "content": "new\n"})
        assert changed.completed or changed.pending
    with SyncGateway(way.address, tls=way.tls("agent")) as sync, sync.session() as session_of_threads:
        assert "a note" in session_of_threads.call("read", {"path": "note.txt"}).text


@pytest.mark.req("AUTH-1")
def test_commands_show_a_certificate_by_option_and_by_variable(way: Way) -> None:
    shown = run("call", "read", "path=note.txt", *way.options("agent"), "-o", "json")
    assert json.loads(shown.stdout)["status"] == "completed", shown.output
    assert run("status", *way.options("operator")).exit_code == 0
    by_variable = {
        "INTERLOCK_OPERATOR_ADDRESS": way.address,
        "INTERLOCK_CA_FILE": way.at("ca.pem"),
        "INTERLOCK_CERT_FILE": way.at("operator.crt"),
        "INTERLOCK_KEY_FILE": way.at("operator.key"),
    }
    listed = run("providers", "-o", "json", **by_variable)
    assert json.loads(listed.stdout)["providers"][0]["state"] == "ready", listed.output
    # An agent's certificate operates nothing, and what one command was given is not the next one's.
    assert "this method is for" in run("status", *way.options("agent")).output
    assert run("status", "--address", way.address).exit_code == ExitCode.UNREACHABLE


@pytest.mark.req("AUTH-1")
def test_commands_say_what_is_wrong_with_a_certificate(way: Way) -> None:
    agent = way.options("agent")
    for arguments, code, words in (
        (
            ("tools", *agent, "--ca-file", way.at("other.pem")),
            ExitCode.UNREACHABLE,
            "the gateway's certificate is refused: ",
        ),
        (
            ("tools", *agent, "--server-name", "other.example.org"),
            ExitCode.UNREACHABLE,
            "the gateway's certificate is not for other.example.org",
        ),
        (("tools", *agent, "--cert-file", way.at("nowhere.crt")), ExitCode.REFUSED, "No such file or directory"),
        (("tools", *agent, "--key-file", way.at("operator.key")), ExitCode.USAGE, "agent.crt and its key cannot be"),
        (("tools", *agent, "--ca-file", way.at("agent.key")), ExitCode.USAGE, "holds no authorities that can be used"),
        (("tools", *way.options("stranger")), ExitCode.REFUSED, "the certificate is nobody's here"),
    ):
        ended = run(*arguments)
        assert (ended.exit_code, words in ended.output) == (code, True), ended.output


@pytest.mark.req("TOOL-4")
def test_the_toolbox_takes_nothing_from_who_is_not_the_gateway(way: Way, tmp_path: Path) -> None:
    log = (way.directory / "toolbox.log").read_text(encoding="utf-8")
    assert "Traceback" not in log
    ended = run("toolbox", "--root", str(tmp_path), "--client", "CN=gateway")
    assert (ended.exit_code, "there is no --cert-file" in ended.output) == (ExitCode.USAGE, True)
    ended = run("toolbox", "--root", str(tmp_path), "--listen", "127.0.0.1:0", "--cert-file", way.at("ca.pem"))
    assert (ended.exit_code, "and its key cannot be used" in ended.output) == (ExitCode.USAGE, True)


async def test_a_client_that_speaks_plain_text_to_it_is_not_answered(way: Way) -> None:
    async with Gateway(way.address, plaintext=True, timeout=2) as gateway:
        with pytest.raises(GatewayUnavailableError):
            await gateway.session().call("read", {"path": "note.txt"})
    host, _, port = way.address.rpartition(":")
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        plain.settimeout(20)
        assert b"HTTP" not in plain.recv(100)
