"""`interlock mcp` and `interlock mcp wrap` as MCP clients start them, and the operator's commands about MCP servers."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import yaml
from gateway_bench import config_in
from interlock import Gateway as Operator
from interlock.admin import Admin
from interlock_gateway.app import running
from interlock_gateway.cli.config import effective
from interlock_gateway.cli.main import app
from interlock_gateway.cli.wrapping import Wrapped, _name_of, free_slot, wrapped_config
from interlock_gateway.config import Config, ProviderConfig, StateConfig
from interlock_gateway.config_providers import McpUpstreamConfig, ProviderCredentialsConfig
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from typer.testing import CliRunner, Result
from upstream_bench import HERE, crooked_config, http_server, stdio_config
from upstream_server import TOOLS, Upstream
from waiting import eventually

INTERLOCK = (sys.executable, "-m", "interlock_gateway.cli.main")
SERVER = (sys.executable, str(HERE / "upstream_server.py"))


def interlock(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), env=env)


@asynccontextmanager
async def wrapped(
    state: Path, *, server: tuple[str, ...] = SERVER, mode: str = "auto", **client: Any
) -> AsyncIterator[Client]:
    """A client of a wrapped server, as its configuration would start it."""
    environment = {"INTERLOCK__STATE__DIR": str(state), "PATH": os.environ["PATH"], "GIVEN": "by the client"}
    arguments = [*INTERLOCK[1:], "mcp", "wrap", "--", *server]
    parameters = StdioServerParameters(command=INTERLOCK[0], args=arguments, env=environment)
    async with Client(stdio_client(parameters), mode=mode, **client) as made:
        yield made


class Person:
    """Who sits at the client: says yes to everything, and remembers what was asked."""

    def __init__(self, consent: str = "yes") -> None:
        self.consent = consent
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        answers = {"consent": self.consent, "decision": "approve"}
        wanted: Any = {name: answers[name] for name in params.requested_schema["properties"] if name in answers}
        return types.ElicitResult(action="accept", content=wanted)


def text(result: types.CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, types.TextContent))


@pytest.mark.req("MCP-4", "TOOL-3", "MCP-2")
async def test_a_wrapped_server_works_once_the_person_at_the_client_consented(socket_directory: Path) -> None:
    person = Person()
    async with wrapped(socket_directory, elicitation_callback=person) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool.name for tool in TOOLS} | {"resolve", "read_artifact", "search_artifact"}
        said = await client.call_tool("echo", {"text": "hello"})
        assert (said.is_error, text(said)) == (False, "hello")
        assert len(person.asked) == 1
        assert "    arguments, ask, echo," in person.asked[0]
        environment = text(await client.call_tool("environment", {}))
        assert "GIVEN" in environment
        assert "INTERLOCK" not in environment
        wrecked = await client.call_tool("wreck", {})
        assert (wrecked.is_error, text(wrecked)) == (False, "done")
        assert "wreck is destructive" in person.asked[1]


@pytest.mark.req("MCP-4", "TOOL-3")
async def test_consent_is_asked_for_once_by_whatever_revision_and_remembered(socket_directory: Path) -> None:
    server = crooked_config("good").command
    refusing, agreeing, nobody = Person("no"), Person(), Person()
    async with wrapped(socket_directory, server=server, mode="legacy", elicitation_callback=refusing) as client:
        # Undeclared as it is, the call itself is still asked about; the person approves that.
        for _ in range(2):
            await client.call_tool("echo", {})
        assert ["declare of themselves" in question for question in refusing.asked].count(True) == 1
    async with wrapped(socket_directory, server=server, mode="legacy", elicitation_callback=agreeing) as client:
        assert text(await client.call_tool("echo", {})) == "hello"
        assert len(agreeing.asked) == 1
    async with wrapped(socket_directory, server=server, elicitation_callback=nobody) as client:
        assert text(await client.call_tool("echo", {})) == "hello"
    assert not nobody.asked


@pytest.mark.req("MCP-4", "CHK-2")
async def test_who_cannot_be_asked_at_the_client_is_pointed_to_the_log_and_no_model_to_the_socket(
    socket_directory: Path,
) -> None:
    async with wrapped(socket_directory, elicitation_callback=Person()) as client:
        await client.call_tool("echo", {"text": "consents"})
    async with wrapped(socket_directory) as client:
        denied = await client.call_tool("wreck", {})
        assert denied.is_error
        assert "its log" in text(denied)
        assert "operator.sock" not in text(denied)


@pytest.mark.req("MCP-4", "TOOL-3")
async def test_without_consent_a_call_says_how_to_give_it(socket_directory: Path) -> None:
    async with wrapped(socket_directory, server=crooked_config("good").command) as client:
        denied = await client.call_tool("echo", {})
        assert denied.is_error
        assert "--confirm" in text(denied)


@pytest.mark.req("MCP-4", "TOOL-3")
def test_consent_is_given_at_a_terminal_and_remembered(socket_directory: Path) -> None:
    environment = {**os.environ, "INTERLOCK__STATE__DIR": str(socket_directory)}
    server = crooked_config("good").command
    command = [*INTERLOCK, "mcp", "wrap", "--confirm", "--", *server]
    for answer, code, words in (("n", 1, "Nothing was changed"), ("y", 0, "Consent is remembered")):
        asked = subprocess.run(
            command, input=answer, capture_output=True, text=True, env=environment, check=False, timeout=60
        )
        assert (asked.returncode, asked.stdout.strip()) == (code, ""), asked.stderr
        assert words in asked.stderr
        assert "only reads" in asked.stderr
    (kept,) = (socket_directory / "wrap").glob("*.consent.json")
    assert list(json.loads(kept.read_text())["tools"]) == ["echo"]


@pytest.mark.req("MCP-4")
@pytest.mark.parametrize(
    ("server", "words"),
    [
        (("/no/such/server",), ["/no/such/server is no program that can be run here"]),
        (("no-such-server", "--now"), ["there is no program no-such-server in PATH", "give its full path"]),
        (
            (sys.executable, "-c", "import sys; sys.exit('no directory \\x1b[2J given')"),
            ["it ended with exit code 1", "It wrote last:\n    no directory <U+001B>[2J given"],
        ),
    ],
)
def test_a_server_that_cannot_be_started_is_said_so_on_stderr(
    server: tuple[str, ...], words: list[str], socket_directory: Path
) -> None:
    environment = {**os.environ, "INTERLOCK__STATE__DIR": str(socket_directory)}
    command = [*INTERLOCK, "mcp", "wrap", "--", *server]
    failed = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert [each for each in words if each not in failed.stderr] == []


@pytest.mark.req("MCP-2", "SEC-7")
async def test_operators_are_shown_what_a_server_wrote_last_and_agents_are_not(socket_directory: Path) -> None:
    said = "'no database', os.environ['KEY'], 'AKIA' + 'IOSFODNN7EXAMPLE', '\\x1b[2J', 'x' * 900"
    script = f"import os, sys; [print(n, file=sys.stderr) for n in range(9)]; print({said}, file=sys.stderr)"
    command = (sys.executable, "-c", f"{script}; sys.exit(7)")
    upstream = McpUpstreamConfig(command=command, environment={"KEY": "hunter2hunter2"})
    spec = ProviderConfig(name="bad", mcp=upstream, trust="declared")
    async with running(config_in(socket_directory, providers=(spec,))) as gateway:
        await eventually(lambda: bool(gateway.rooms.directory.connections()[0].last_error))
        async with Operator(gateway.endpoints.operators[0]) as operator:
            (shown,) = await Admin(operator).providers()
        async with Operator(gateway.endpoints.agents[0]) as agent:
            told = await agent.session("s").call("bad/resources/read", {"uri": "x:y"})
    assert (
        "it ended with exit code 7. It wrote last: 5 / 6 / 7 / 8 / no database [redacted:environment]"
        in shown.last_error
    )
    assert "<U+001B>[2J" in shown.last_error
    assert len(shown.last_error) < 2000
    for secret in ("hunter2", "AKIAIOSFODNN7EXAMPLE", "\x1b"):
        assert secret not in shown.last_error
    assert "no database" not in told.text


@pytest.mark.req("MCP-1")
def test_interlock_mcp_offers_no_tls_that_it_would_not_use() -> None:
    shown = interlock("mcp", "--help").output
    assert "--address" in shown
    assert "--ca-file" not in shown
    assert "--ca-file" in interlock("providers", "--help").output


@pytest.mark.parametrize("address", ["127.0.0.1:7090", "http://127.0.0.1:7090/mcp", "[::1]:7090"])
@pytest.mark.req("MCP-4")
def test_who_gives_interlock_mcp_an_address_of_http_is_told_what_is_spoken_there(address: str) -> None:
    refused = interlock("mcp", "--address", address)
    assert refused.exit_code == 2
    assert "over HTTP a client connects to the gateway by itself" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("npx", "-y", "@modelcontextprotocol/server-filesystem@1.2", "/notes"), "server-filesystem"),
        (("uvx", "mcp-server-git"), "mcp-server-git"),
        (("/usr/bin/python3", "-m", "my.server"), "my.server"),
        (("./run me!",), "run-me"),
    ],
)
@pytest.mark.req("MCP-4")
def test_a_wrapped_server_is_called_by_its_package(command: tuple[str, ...], name: str) -> None:
    assert _name_of(command) == name
    assert Wrapped(command, "mine", None, "INFO").provider == "mine"
    assert Wrapped(command, "", None, "INFO").slot != Wrapped((*command, "x"), "", None, "INFO").slot


@pytest.mark.req("MCP-4", "DEFER-1")
def test_a_wrapped_servers_tools_are_all_listed_unless_a_configuration_says_otherwise(socket_directory: Path) -> None:
    base = Config(state=StateConfig(dir=socket_directory))
    alone, configured = (
        wrapped_config(base, Wrapped(("npx", "server"), "", file, "INFO"), socket_directory).deferred.threshold
        for file in (None, socket_directory / "interlock.yaml")
    )
    assert alone > 100_000
    assert configured == base.deferred.threshold


@pytest.mark.req("MCP-1", "MCP-4")
async def test_a_client_that_starts_a_program_reaches_a_running_gateway(socket_directory: Path) -> None:
    spec = ProviderConfig(name="good", mcp=crooked_config("good"), trust="declared")
    async with running(config_in(socket_directory, providers=(spec,))) as gateway:
        await eventually(lambda: gateway.rooms.parts.registry.find("echo") is not None)
        environment = {"INTERLOCK_MCP_ADDRESS": gateway.endpoints.mcp[0], "PATH": os.environ["PATH"]}
        parameters = StdioServerParameters(command=INTERLOCK[0], args=[*INTERLOCK[1:], "mcp"], env=environment)
        async with Client(stdio_client(parameters)) as client:
            assert text(await client.call_tool("echo", {})) == "hello"


@pytest.mark.req("MCP-1")
def test_where_no_gateway_is_that_is_said(socket_directory: Path) -> None:
    missing = interlock("mcp", "--address", f"unix:{socket_directory}/none.sock")
    assert missing.exit_code == 3
    assert "no gateway speaks MCP" in missing.output


@pytest.mark.req("TOOL-4", "MCP-2")
async def test_an_mcp_server_is_added_and_removed_while_the_gateway_runs(socket_directory: Path) -> None:
    import asyncio

    upstream = Upstream()
    known = {"desk": ProviderCredentialsConfig(token="hunter2hunter2")}
    async with (
        http_server(upstream) as url,
        running(config_in(socket_directory, providers=(), provider_credentials=known)) as gateway,
    ):
        operator = {"INTERLOCK_OPERATOR_ADDRESS": gateway.endpoints.operators[0]}

        async def run(*words: str) -> Result:
            return await asyncio.to_thread(interlock, "providers", *words, env=operator)

        added = await run("add", "desk", "--mcp-url", url, "--prefix", "desk_", "--credentials", "desk", "-o", "json")
        assert added.exit_code == 0, added.output
        await eventually(lambda: gateway.rooms.parts.registry.find("desk_echo") is not None)
        listed = await run("-o", "json")
        (shown,) = yaml.safe_load(listed.stdout)["providers"]
        assert (shown["kind"], shown["trust"], shown["version"]) == ("mcp_http", "floor", "7")
        assert "hunter2" not in listed.output
        assert (await run("remove", "desk")).exit_code == 0
        assert gateway.rooms.parts.registry.find("desk_echo") is None
        for words, said in (
            (("--mcp-url", "http://tools.example/mcp"), "https://"),
            (("--mcp-url", "ftp://x"), "must be an http"),
            (("--mcp-url", "https://a:b@x/mcp"), "holds a name or a password"),
            (("--mcp-url", url, "--prefix", "a b"), "a prefix is"),
            (("--mcp-url", url, "--credentials", "none"), "there is no none"),
            ((), "either TARGET or --mcp-url"),
            (("unix:/x", "--mcp-url", url), "either TARGET or --mcp-url"),
        ):
            refused = await run("add", "other", *words)
            assert refused.exit_code == 2, refused.output
            assert said in refused.output


@pytest.mark.req("MCP-2")
def test_servers_are_checked_and_their_secrets_shown_to_nobody(tmp_path: Path) -> None:
    secrets = {"headers": {"Authorization": "Bearer hunter2"}}
    good = stdio_config(environment={"KEY": "hunter2hunter2"}).model_dump(mode="json")
    document = {
        "state": {"dir": str(tmp_path)},
        "metrics": {"listen": ""},
        "providers": [
            {"name": "good", "mcp": {key: good[key] for key in ("command", "environment")}},
            {"name": "gone", "mcp": {"url": "http://127.0.0.1:1/mcp?key=hunter2", **secrets}},
        ],
    }
    file = tmp_path / "interlock.yaml"
    file.write_text(yaml.safe_dump(document))
    checked = interlock("check", "--config", str(file), "-o", "json")
    found = {one["what"]: one for one in yaml.safe_load(checked.stdout)["checks"]}
    assert "17 tools, version 7" in found["provider good"]["detail"]
    assert "cannot be reached" in found["provider gone"]["detail"]
    shown = interlock("config", "show", "--config", str(file))
    assert "Authorization: '***'" in shown.stdout
    assert "KEY: '***'" in shown.stdout
    assert "hunter2" not in checked.output + shown.output
    assert "hunter2" not in repr(Config.model_validate(document).providers)
    assert effective(Config(providers=(ProviderConfig(name="x", mcp=McpUpstreamConfig(command=("y",))),)))


@pytest.mark.req("MCP-4")
def test_two_clients_that_wrap_one_command_at_the_same_moment_have_each_a_state_of_their_own(
    socket_directory: Path,
) -> None:
    slot = socket_directory / "server-0123456789"
    with free_slot(slot) as first, free_slot(slot) as second:
        assert first != second
    with free_slot(slot) as again:
        assert again == first


@pytest.mark.parametrize("name", ["../escape", "a/b", "a\nb", "x" * 65, "-x"])
@pytest.mark.req("MCP-4")
def test_a_wrapped_servers_name_makes_no_path(tmp_path: Path, name: str) -> None:
    state = tmp_path / "state"
    done = interlock("mcp", "wrap", "--name", name, "--", "true", env={"INTERLOCK__STATE__DIR": str(state)})
    assert done.exit_code != 0
    assert not state.exists()
    assert list(tmp_path.iterdir()) == []
