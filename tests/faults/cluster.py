"""Three gateways on one PostgreSQL database and one bucket, behind a balancer: processes, and wires that can be cut."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from balancer import Balancer
from crash_judge import Effect
from crash_records import Database
from interlock import Gateway
from interlock_gateway.identity.authenticate import new_token
from postgres_server import PostgresServer
from s3_server import S3Server
from waiting import eventually
from wires import Damage, Wire, postgres_wire

HERE = Path(__file__).resolve().parent
NAMES = ("one", "two", "three")
DOORS = 6
LEASE_S = 2.0
PATIENCE_S = 150.0
"""Everything here takes seconds; this is for machines that have other things to do."""
(AGENT_TOKEN, _AGENT_SHA256), (APPROVER_TOKEN, _APPROVER_SHA256) = new_token(), new_token()
_SERVE = ("-m", "interlock_gateway.cli.main")


@dataclass(eq=False)
class Node:
    """One replica: a process, and its wire to the database."""

    name: str
    directory: Path
    wire: Wire
    settings: Mapping[str, object]
    environment: Mapping[str, str]
    process: Process | None = None
    address: str = ""

    @property
    def audit(self) -> Path:
        """Where its receipts are."""
        return self.directory / "state" / "audit"

    async def start(self) -> None:
        """Serve. Its port is another one each time."""
        config = self.directory / "interlock.yaml"
        config.write_text(json.dumps(self.settings))  # JSON is YAML too
        command = (sys.executable, *_SERVE, "serve", "--config", str(config), "-o", "json")
        log = self.directory / "serve.log"
        with log.open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *command, stdout=PIPE, stderr=errors, env=dict(self.environment)
            )
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_S)
        assert line, log.read_text()[-3000:]
        self.address = next(place for place in json.loads(line)["agents"] if not place.startswith("unix:"))

    async def end(self, number: signal.Signals) -> int:
        """End it by this signal, and wait until it has; its exit code."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    async def verified(self) -> str:
        """What `interlock audit verify` says when it finds something; empty when all is well."""
        key = self.directory / "state" / "audit-key.pem.pub"
        places = ("--dir", str(self.audit), "--public-key", str(key))
        ended = await asyncio.create_subprocess_exec(
            sys.executable, *_SERVE, "audit", "verify", *places, stdout=PIPE, stderr=STDOUT
        )
        said, _ = await ended.communicate()
        return said.decode() if ended.returncode else ""


@dataclass(eq=False)
class Cluster:
    """The replicas by name, the balancer before them, and what can be seen of them from outside."""

    directory: Path
    nodes: Mapping[str, Node]
    balancer: Balancer
    database: Database
    _effects: list[Effect] = field(default_factory=list)
    _ledger_read: int = 0

    def client(self, door: int, token: str = AGENT_TOKEN) -> Gateway:
        """A client as agents have it, by one of the balancer's doors."""
        return Gateway(self.balancer.addresses[door % DOORS], token=token, timeout=PATIENCE_S)

    def client_of(self, name: str) -> Gateway:
        """A client of one replica, past the balancer."""
        return Gateway(self.nodes[name].address, token=AGENT_TOKEN, timeout=PATIENCE_S)

    async def start(self, name: str) -> None:
        """Start a replica, and have the balancer know where it is."""
        await self.nodes[name].start()
        self.balancer.backends[name].address = self.nodes[name].address

    async def all_serve(self) -> None:
        """Wait until every replica gets connections."""
        await eventually(lambda: self.balancer.serving() == set(NAMES), PATIENCE_S)

    async def gone_from_balance(self, name: str) -> None:
        """Wait until a replica gets no new connections."""
        await eventually(lambda: name not in self.balancer.serving(), PATIENCE_S)

    def cut_from_database(self, name: str, damage: Damage) -> None:
        """Between a replica and the database nothing goes through any more."""
        self.nodes[name].wire.break_(damage)

    def cut_from_clients(self, name: str, damage: Damage) -> None:
        """Between the balancer and a replica nothing goes through any more."""
        self.balancer.backends[name].wire.break_(damage)

    def mend(self, name: str) -> None:
        """Everything goes through again."""
        self.nodes[name].wire.mend()
        self.balancer.backends[name].wire.mend()

    def effects(self) -> list[Effect]:
        """Every effect so far, as the provider's ledger has it."""
        with (self.directory / "ledger").open("rb") as file:
            file.seek(self._ledger_read)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self._ledger_read += whole
        self._effects += [Effect(**json.loads(line)) for line in data[:whole].splitlines()]
        return self._effects

    def happened(self, what: str) -> bool:
        """Whether the ledger has an effect, given as `tool key`."""
        return any(f"{effect.tool} {effect.key}".replace("scribe", "note") == what for effect in self.effects())


@asynccontextmanager
async def running_cluster(directory: Path, url: str, server: PostgresServer, s3: S3Server) -> AsyncIterator[Cluster]:
    """Three replicas that serve, on the database at `url` and a bucket of their own."""
    (directory / "ledger").touch()
    async with AsyncExitStack() as stack:
        bucket = s3.bucket()
        for name in NAMES:
            (directory / name).mkdir()
        nodes = {name: await _node(directory / name, url, server, s3, bucket, stack=stack) for name in NAMES}
        audits = os.pathsep.join(str(node.audit) for node in nodes.values())
        await _provider(directory, audits, url, stack)
        records = Database(url)
        stack.callback(records.close)
        balancer = await stack.enter_async_context(Balancer(NAMES, DOORS))
        cluster = Cluster(directory, nodes, balancer, records)
        await asyncio.gather(*map(cluster.start, NAMES))
        await cluster.all_serve()
        yield cluster


async def _node(
    place: Path, url: str, server: PostgresServer, s3: S3Server, bucket: str, *, stack: AsyncExitStack
) -> Node:
    directory, name = place.parent, place.name
    wire, listening = await postgres_wire(server.directory, place)
    stack.callback(listening.close)
    stack.callback(wire.drop)
    settings: dict[str, object] = {
        "state": {
            "dir": str(place / "state"),
            "database": url.replace(f"host={server.directory}", f"host={place}"),
            "lease_s": LEASE_S,
        },
        "server": {"listen": ["127.0.0.1:0"], "drain_s": 10.0},
        "metrics": {"listen": ""},
        "policy": {"workers": 1, "timeout_s": 10, "watch": False},
        "artifacts": {"url": f"s3://{bucket}/artifacts", "timeout_s": 30},
        "identity": {
            "tokens": [
                {"principal": "agent", "sha256": _AGENT_SHA256, "roles": ["agent"]},
                {"principal": "person", "sha256": _APPROVER_SHA256, "roles": ["approver"]},
            ]
        },
        "providers": [{"name": "judge", "address": f"unix:{directory}/judge.sock"}],
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith(("INTERLOCK_", "AWS_"))}
    node = Node(name, place, wire, settings, {**own, **s3.environment()})
    stack.push_async_callback(_killed, node)
    return node


async def _provider(directory: Path, audits: str, url: str, stack: AsyncExitStack) -> None:
    paths = [str(HERE), str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    arguments = (f"unix:{directory}/judge.sock", str(directory / "ledger"), audits, url)
    with (directory / "provider.log").open("wb") as log:
        provider = await asyncio.create_subprocess_exec(
            sys.executable,
            *(str(HERE / "crash_provider.py"), *arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    stack.push_async_callback(_ended, provider)
    assert provider.stdout is not None
    assert await asyncio.wait_for(provider.stdout.readline(), PATIENCE_S), (directory / "provider.log").read_text()


async def _killed(node: Node) -> None:
    if node.process is not None and node.process.returncode is None:
        await node.end(signal.SIGKILL)


async def _ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
