"""`interlock mcp wrap`: a gateway in this process, one MCP server behind it, and its client on our pipes (MCP-4)."""

import asyncio
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import typer
import uvloop

from interlock_gateway.app import running
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.last_words import LastWords, last_words
from interlock_gateway.cli.pump import pump
from interlock_gateway.config import Config, DeferredConfig, ProviderConfig
from interlock_gateway.config_loader import load_config
from interlock_gateway.config_loader.addresses import LONGEST_SOCKET_PATH
from interlock_gateway.config_mcp import McpConfig, McpPersonConfig
from interlock_gateway.config_providers import McpUpstreamConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.core.tool import Effect, PinState, classify
from interlock_gateway.core.visible import visible_line
from interlock_gateway.operate.confirm import Confirmations
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.serving import Gateway
from interlock_gateway.telemetry.logs import log_to_stderr

START_S = 120.0
"""How long the server may take to start: `npx` may have to fetch it first."""
RETRIES_S = 2.5
"""How long it is tried again once it has failed."""
POLL_S = 0.05
ALL_TOOLS = 1_000_000
"""The client sees every tool of the server, as it did before: that there are many is not news to it."""
MOST_AT_ONCE = 16
"""Clients that may wrap the same command at the same time, each with a gateway of its own."""
_LISTENERS = {
    "listen": ("unix:{state}/agent.sock",),
    "operator_listen": ("unix:{state}/operator.sock",),
    "health_listen": "",
    "tls": None,
}
_OURS = "INTERLOCK"
_SOCKET = "mcp.sock"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WORDS = {
    Effect.READ_ONLY: "only reads",
    Effect.MUTATING: "changes things",
    Effect.DESTRUCTIVE: "may destroy",
    Effect.UNDECLARED: "says nothing",
}


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What is wrapped, and how."""

    command: tuple[str, ...]
    name: str
    config: Path | None
    log_level: str
    yes: bool = False
    only_confirm: bool = False

    @property
    def provider(self) -> str:
        """The server's name: as given, else by its command."""
        return self.name or _name_of(self.command)

    @property
    def slot(self) -> str:
        """The name of its state: another command of the same name has another one."""
        digest = hashlib.sha256("\0".join((*self.command, self.name)).encode()).hexdigest()
        return f"{self.provider[:24]}-{digest[:10]}"


def run_wrapped(wrapped: Wrapped) -> int:
    """Run it until the client goes. The exit code."""
    log_to_stderr(wrapped.log_level)
    if not _NAME.fullmatch(wrapped.provider):
        raise CommandError("a server's name has 1 to 64 characters of A-Z a-z 0-9 . _ and -, a letter or digit first")
    refuse_what_cannot_run(wrapped.command[0])
    base = load_config(wrapped.config, os.environ)
    directory = base.state_dir / "wrap"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    consents = directory / f"{wrapped.slot}.consent.json"
    with free_slot(directory / wrapped.slot) as state, last_words() as words:
        return uvloop.run(_Wrap(wrapped, wrapped_config(base, wrapped, state), consents, words).run())


def refuse_what_cannot_run(program: str) -> None:
    """Raise `CommandError` for what the operating system would not run; clients often have a short `PATH`."""
    if shutil.which(program) is not None:
        return
    if "/" in program:
        raise CommandError(f"{program} is no program that can be run here")
    raise CommandError(
        f"there is no program {program} in PATH, which is {os.environ.get('PATH', '')}; give its full path"
    )


def wrapped_config(base: Config, wrapped: Wrapped, state: Path) -> Config:
    """The configuration of a gateway for this one server and the client on our pipes."""
    identity = base.identity
    person = McpPersonConfig(
        agent=identity.unix_agent,
        approver=identity.unix_operator,
        groups=identity.unix_operator_groups,
        confirms=True,
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    server = McpUpstreamConfig(command=wrapped.command, environment=environment, allow=("sampling", "elicitation"))
    return base.model_copy(
        update={
            "state": base.state.model_copy(update={"dir": state, "database": "sqlite:///{state}/state.db"}),
            "server": base.server.model_copy(update=_LISTENERS),
            "extmcp": base.extmcp.model_copy(update={"listen": ()}),
            "metrics": base.metrics.model_copy(update={"listen": ""}),
            "mcp": McpConfig(listen=(f"unix:{{state}}/{_SOCKET}",), people=(person,)),
            "approvals": base.approvals.model_copy(update={"webhooks": ()}),
            "providers": (ProviderConfig(name=wrapped.provider, mcp=server),),
            "deferred": base.deferred if wrapped.config is not None else DeferredConfig(threshold=ALL_TOOLS),
        }
    )


class _Wrap:
    """One run."""

    def __init__(self, wrapped: Wrapped, config: Config, consents: Path, words: LastWords) -> None:
        self._wrapped = wrapped
        self._config = config
        self._consents = consents
        self._words = words

    async def run(self) -> int:
        """Serve until the client goes, or a signal comes."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        async with running(self._config) as gateway:
            if not await self._described(gateway, stop):
                return ExitCode.REFUSED
            await self._consent_again(gateway)
            if self._wrapped.only_confirm:
                return await self._ask(gateway)
            if self._wrapped.yes:
                await self._confirm(gateway)
            self._tell_people()
            self._carry(loop, stop)
            await stop.wait()
            self._remember(gateway)
        return ExitCode.OK

    async def _described(self, gateway: Gateway, stop: asyncio.Event) -> bool:
        """Wait until the server has described itself, or cannot be started."""
        (connection,) = gateway.rooms.directory.connections()
        loop = asyncio.get_running_loop()
        until = loop.time() + START_S
        while not connection.described.is_set() and not stop.is_set():
            if connection.last_error:
                # It is started anew meanwhile: some servers want to be spoken to in another way.
                until = min(until, loop.time() + RETRIES_S)
            if loop.time() > until:
                self._tell_failure(connection.last_error)
                return False
            await asyncio.sleep(POLL_S)
        return connection.described.is_set()

    def _tell_people(self) -> None:
        """In the client's log, and not to the model, which might answer for itself."""
        (operators,) = self._config.server.operator_listen
        where = self._config.at_state(operators)
        typer.echo(f"to answer for calls that need a person: interlock checkpoints watch --address {where}", err=True)

    def _tell_failure(self, error: str) -> None:
        typer.echo(f"interlock: {visible_line(error) or 'the server does not answer'}", err=True)
        if lines := self._words.of(self._wrapped.provider):
            typer.echo("It wrote last:", err=True)
            for line in lines:
                typer.echo(f"    {line}", err=True)

    def _carry(self, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
        """Have the client's bytes carried to our own socket beside the gateway."""

        def carry() -> None:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(str(self._config.state_dir / _SOCKET))
                pump(connection)
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(stop.set)

        threading.Thread(target=carry, daemon=True).start()

    async def _consent_again(self, gateway: Gateway) -> None:
        """Take what a person consented to in an earlier run, as far as the definitions are the same."""
        known = _read(self._consents)
        tools = {tool.name: tool.sha256 for tool in self._unconfirmed(gateway) if known.get(tool.name) == tool.sha256}
        if tools:
            await self._accept(gateway, tools, "remembered from an earlier run of mcp wrap")

    async def _ask(self, gateway: Gateway) -> int:
        tools = gateway.rooms.parts.registry.tools_of(self._wrapped.provider)
        typer.echo(f"{self._wrapped.provider} has {len(tools)} tools. They declare:\n", err=True)
        for tool in sorted(tools, key=lambda one: one.name):
            state = "" if tool.pin_state is PinState.UNCONFIRMED else f"  ({tool.pin_state.value})"
            typer.echo(f"  {tool.name:<40} {_WORDS[classify(tool.declared).effect]}{state}", err=True)
        if not self._unconfirmed(gateway):
            typer.echo("\nAll of it was consented to already.", err=True)
            return ExitCode.OK
        agreed = self._wrapped.yes or await asyncio.to_thread(_agreed)
        if not agreed:
            typer.echo("Nothing was changed: the tools count as undeclared.", err=True)
            return ExitCode.REFUSED
        await self._confirm(gateway)
        self._remember(gateway)
        typer.echo("Consent is remembered for this command.", err=True)
        return ExitCode.OK

    async def _confirm(self, gateway: Gateway) -> None:
        if tools := {tool.name: tool.sha256 for tool in self._unconfirmed(gateway)}:
            await self._accept(gateway, tools, "mcp wrap")

    async def _accept(self, gateway: Gateway, tools: Mapping[str, str], reason: str) -> None:
        rooms = gateway.rooms
        by = Principal(self._config.identity.unix_operator, "socket", frozenset({Role.OPERATOR}))
        confirmations = Confirmations(rooms.parts.registry, rooms.store.pins, rooms.parts.clock)
        await confirmations.confirm(by, self._wrapped.provider, tools, reason)

    def _unconfirmed(self, gateway: Gateway) -> list[RegisteredTool]:
        tools = gateway.rooms.parts.registry.tools_of(self._wrapped.provider)
        return [tool for tool in tools if tool.pin_state is PinState.UNCONFIRMED]

    def _remember(self, gateway: Gateway) -> None:
        """Keep what is consented to where the next gateway for this command finds it."""
        tools = gateway.rooms.parts.registry.tools_of(self._wrapped.provider)
        agreed = {tool.name: tool.sha256 for tool in tools if tool.pin_state is PinState.PINNED}
        if agreed and agreed != _read(self._consents):
            fresh = self._consents.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps({"command": self._wrapped.command, "tools": agreed}, indent=1))
            fresh.replace(self._consents)


def _agreed() -> bool:
    try:
        return typer.confirm("\nTake this as true?", err=True)
    except typer.Abort:
        return False


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text())["tools"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(name): str(sha256) for name, sha256 in found.items()} if isinstance(found, dict) else {}


@contextmanager
def free_slot(directory: Path) -> Iterator[Path]:
    """A state directory that is nobody else's meanwhile: clients may wrap the same command at the same moment.

    Its lock is not the gateway's: who looked whether that one is free would keep another gateway from taking it.
    Raises `CommandError`.
    """
    if len(str(directory)) + len("/operator.sock.99") > LONGEST_SOCKET_PATH:
        raise CommandError(f"{directory} is too long for the name of a socket: choose a shorter state.dir")
    for number in range(1, MOST_AT_ONCE + 1):
        slot = directory if number == 1 else directory.with_name(f"{directory.name}.{number}")
        slot.mkdir(mode=0o700, exist_ok=True)
        with (slot / "wrapped").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield slot
            return
    raise CommandError(f"{MOST_AT_ONCE} gateways for this command are running already")


def _name_of(command: tuple[str, ...]) -> str:
    """A name for the server: the last part of its package or program, without what installs or runs it."""
    runners = {"npx", "uvx", "uv", "run", "node", "python", "python3", "-m", "tool", "bunx", "pipx", "docker", "exec"}
    words = [Path(one).name for one in command if not one.startswith("-") or one == "-m"]
    wanted = next((word for word in words if word not in runners), words[0] if words else "server")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted.partition("@")[0] or wanted).strip("-._")
    return name[:48] or "server"
