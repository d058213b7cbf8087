"""The clients: a gateway and its sessions, for an event loop and for threads."""

from types import TracebackType
from typing import Self, Unpack

import grpc

from interlock import _call_flows, _session_flows
from interlock._connection import DEFAULT_TIMEOUT, Connection
from interlock._drivers import AsyncDriver, SyncDriver
from interlock._encode import SessionCore, new_id
from interlock._facade import async_items, awaited, called, items
from interlock._session_flows import SessionOptions
from interlock.tls import ClientTls


class Session(SessionCore):
    """One agent conversation at the gateway. As a context manager it closes the session at the end."""

    __slots__ = ("driver",)
    driver: AsyncDriver

    def __init__(self, driver: AsyncDriver, session_id: str, timeout: float) -> None:
        super().__init__(session_id, timeout)
        object.__setattr__(self, "driver", driver)

    call = awaited(_call_flows.call)
    stream = async_items(_call_flows.stream)
    batch = awaited(_call_flows.batch)
    stream_batch = async_items(_call_flows.stream_batch)
    resolve = awaited(_call_flows.resolve)
    evaluate = awaited(_call_flows.evaluate)
    get_call = awaited(_call_flows.get_call)
    wait_call = awaited(_call_flows.wait_call)
    tools = awaited(_session_flows.tools)
    search_tools = awaited(_session_flows.search_tools)
    activate_tools = awaited(_session_flows.activate_tools)
    pending = awaited(_session_flows.pending)
    operations = awaited(_session_flows.operations)
    rollback = async_items(_session_flows.rollback)
    settle_operation = awaited(_session_flows.settle_operation)
    read_artifact = awaited(_session_flows.read_artifact)
    search_artifact = awaited(_session_flows.search_artifact)
    stat_artifact = awaited(_session_flows.stat_artifact)
    resolve_references = awaited(_session_flows.resolve_references)
    close = awaited(_session_flows.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class SyncSession(SessionCore):
    """One agent conversation at the gateway, for threads. As a context manager it closes the session at the end."""

    __slots__ = ("driver",)
    driver: SyncDriver

    def __init__(self, driver: SyncDriver, session_id: str, timeout: float) -> None:
        super().__init__(session_id, timeout)
        object.__setattr__(self, "driver", driver)

    call = called(_call_flows.call)
    stream = items(_call_flows.stream)
    batch = called(_call_flows.batch)
    stream_batch = items(_call_flows.stream_batch)
    resolve = called(_call_flows.resolve)
    evaluate = called(_call_flows.evaluate)
    get_call = called(_call_flows.get_call)
    wait_call = called(_call_flows.wait_call)
    tools = called(_session_flows.tools)
    search_tools = called(_session_flows.search_tools)
    activate_tools = called(_session_flows.activate_tools)
    pending = called(_session_flows.pending)
    operations = called(_session_flows.operations)
    rollback = items(_session_flows.rollback)
    settle_operation = called(_session_flows.settle_operation)
    read_artifact = called(_session_flows.read_artifact)
    search_artifact = called(_session_flows.search_artifact)
    stat_artifact = called(_session_flows.stat_artifact)
    resolve_references = called(_session_flows.resolve_references)
    close = called(_session_flows.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Gateway:
    """A gateway, for an event loop.

    `address` is `unix:/path`, `host:port` or `dns:///name:port`; without one the environment's `INTERLOCK_ADDRESS`, or
    127.0.0.1:7080. `token` is a bearer token; without one `INTERLOCK_TOKEN`. Other machines are spoken to in TLS, with
    the system's roots, or with `tls`, from files, or `INTERLOCK_CA_FILE` and the like, unless `plaintext` is said;
    `root_certificates` (PEM) and `credentials` are there for certificates that are in no file. `timeout` is the
    deadline of every request that is given none, in seconds. When a gateway that has answered goes away, what is safe
    to repeat is asked again until its deadline, or until the gateway has been away, or has said that it cannot serve,
    for `patience` seconds. Nothing is connected before the first request.
    """

    def __init__(
        self,
        address: str = "",
        *,
        token: str | None = None,
        root_certificates: bytes | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        plaintext: bool = False,
        tls: ClientTls | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        patience: float | None = None,
    ) -> None:
        self.connection = Connection(address, token, root_certificates, credentials, plaintext, tls)
        self.timeout = timeout
        self.driver = AsyncDriver(self.connection, patience)

    def session(self, session_id: str = "") -> Session:
        """A session by its id, or a new one, which its first call opens."""
        return Session(self.driver, session_id or new_id("session"), self.timeout)

    async def open_session(self, **options: Unpack[SessionOptions]) -> Session:
        """Open a session: `intent`, `labels`, the `tools` wanted, `workspace_roots`, and more of OpenSession."""
        return self.session(await self.driver.run(_session_flows.open_session(self.timeout, options)))

    async def close(self) -> None:
        """Close the connection; sessions stay open at the gateway."""
        await self.driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class SyncGateway:
    """A gateway, for threads; the arguments are those of `Gateway`."""

    def __init__(
        self,
        address: str = "",
        *,
        token: str | None = None,
        root_certificates: bytes | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        plaintext: bool = False,
        tls: ClientTls | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        patience: float | None = None,
    ) -> None:
        self.connection = Connection(address, token, root_certificates, credentials, plaintext, tls)
        self.timeout = timeout
        self.driver = SyncDriver(self.connection, patience)

    def session(self, session_id: str = "") -> SyncSession:
        """A session by its id, or a new one, which its first call opens."""
        return SyncSession(self.driver, session_id or new_id("session"), self.timeout)

    def open_session(self, **options: Unpack[SessionOptions]) -> SyncSession:
        """Open a session: `intent`, `labels`, the `tools` wanted, `workspace_roots`, and more of OpenSession."""
        return self.session(self.driver.run(_session_flows.open_session(self.timeout, options)))

    def close(self) -> None:
        """Close the connection; sessions stay open at the gateway."""
        self.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
