"""A replica's presence on a shared PostgreSQL database: its lease, its name, and what it does about others' (STATE-2).

One connection of its own carries the lease, and session locks with it: who loses the connection has lost both.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import uuid4

import psycopg

from interlock_gateway.pipeline.ports import StateError, StateUnavailableError
from interlock_gateway.state import replica_statements as sql
from interlock_gateway.state.standing import Standing

Connect = Callable[[], Awaitable["psycopg.AsyncConnection[tuple[object, ...]]"]]

# How often a lease is renewed in its time; after two renewals that did not come, others look whether it is dead.
RENEWALS = 5
_MISSED = 2.5
_NAME_RETRY_S = 0.1
_BACKOFF_S = (0.05, 2.0)
_log = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """Others took this replica for dead."""


class Presence:
    """Keeps the lease of `standing`'s replica from `join` to `leave`, by renewing it, or by registering anew.

    `on_tick` is called after each renewal, `on_lost` when locks and lease are gone, `on_joined` when there is a lease
    again. They are called on the event loop.
    """

    def __init__(self, connect: Connect, standing: Standing, lease_s: float) -> None:
        self._connect = connect
        self._standing = standing
        self._lease_s = lease_s
        self._name = sql.lock_key("replica", standing.replica_id)
        self._connection: psycopg.AsyncConnection[tuple[object, ...]] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._broken = asyncio.Event()
        self.on_tick: Callable[[], None] = lambda: None
        self.on_lost: Callable[[], None] = lambda: None
        self.on_joined: Callable[[], None] = lambda: None

    @property
    def standing(self) -> Standing:
        """The lease, as this replica knows it."""
        return self._standing

    async def join(self) -> None:
        """Register, and go on renewing. Raises `StateUnavailableError`, also when another gateway has this name."""
        try:
            await self._register()
        except (psycopg.Error, OSError, TimeoutError, StateError) as error:
            await self._drop()
            raise StateUnavailableError(f"this replica cannot be registered: {error}") from error
        self._keeper = asyncio.create_task(self._keep())

    async def leave(self) -> None:
        """Give up the lease."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        self._standing.lose()
        with suppress(psycopg.Error, OSError, TimeoutError, StateError):
            await self.ask(sql.LEAVE, self._own())
        await self._drop()

    async def ask(self, statement: str, parameters: object = None) -> list[tuple[object, ...]]:
        """Run one statement on the connection that the lease and the locks hang on; its rows.

        Raises `StateUnavailableError` while there is none; what breaks it ends the lease.
        """
        connection = self._connection
        if connection is None:
            raise StateUnavailableError("the connection to the state database is lost")
        try:
            async with asyncio.timeout(self._lease_s):
                cursor = await connection.execute(statement, parameters)  # type: ignore[call-overload]  # one of ours
                return await cursor.fetchall() if cursor.description else [()] * cursor.rowcount
        except (psycopg.Error, OSError, TimeoutError) as error:
            if connection.closed or not isinstance(error, psycopg.Error):
                self._standing.lose()
                self._broken.set()
            raise StateUnavailableError(f"the state database does not answer: {error}") from error

    async def _keep(self) -> None:
        while True:
            try:
                await self._renew_while_it_lasts()
            except Exception as error:  # noqa: BLE001 - who stopped here would leave the replica without a lease for ever
                _log.warning("this replica lost its lease", extra={"problem": str(error)})
            self._standing.lose()
            self.on_lost()
            await self._register_again()
            _log.info("this replica is registered again", extra={"incarnation": self._standing.incarnation})
            self.on_joined()

    async def _renew_while_it_lasts(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._lease_s / RENEWALS):
                    await self._broken.wait()
                raise LeaseLostError("the connection was lost")
            asked_at = time.monotonic()
            if not await self.ask(sql.RENEW, self._own()):
                raise LeaseLostError("the lease had run out")
            self._standing.grant(self._standing.incarnation, asked_at, self._lease_s)
            await self._look_for_the_dead()
            self.on_tick()

    async def _register_again(self) -> None:
        pause = _BACKOFF_S[0]
        while True:
            await self._drop()
            try:
                await self._register()
            except (psycopg.Error, OSError, TimeoutError, StateError) as error:
                _log.warning("this replica cannot be registered yet", extra={"problem": str(error)})
                await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads replicas, hides nothing
                pause = min(pause * 2, _BACKOFF_S[1])
            else:
                return

    async def _register(self) -> None:
        self._broken.clear()
        self._connection = await self._connect()
        await self._take_name()
        incarnation = uuid4().hex
        asked_at = time.monotonic()
        await self.ask(sql.REGISTER, {**self._own(), "incarnation": incarnation})
        self._standing.grant(incarnation, asked_at, self._lease_s)

    async def _take_name(self) -> None:
        """Hold the lock that says that the replica lives; of two gateways with one name one gets it."""
        until = time.monotonic() + self._lease_s + 1
        while not (await self.ask(sql.TRY_LOCK, (self._name,)))[0][0]:
            lease = await self.ask(sql.LEASE, {"replica": self._standing.replica_id})
            ours = bool(lease) and lease[0][0] == self._standing.incarnation
            if ours or not lease or not lease[0][1]:
                # Left over from a connection that this replica lost, and that the server does not know to be gone.
                await self._end_holder(self._name)
            elif time.monotonic() > until:
                raise StateUnavailableError(f"another gateway is running as replica {self._standing.replica_id}")
            await asyncio.sleep(_NAME_RETRY_S)

    async def _look_for_the_dead(self) -> None:
        grace_s = _MISSED * self._lease_s / RENEWALS
        try:
            for replica, incarnation, expired in await self.ask(sql.OVERDUE, {**self._own(), "grace_s": grace_s}):
                await self._bury(str(replica), str(incarnation), expired=bool(expired))
        except StateError as error:
            _log.warning("a replica that seems dead cannot be buried", extra={"problem": str(error)})

    async def _bury(self, replica: str, incarnation: str, *, expired: bool) -> None:
        """Take a replica from the register that does not renew, if it is dead, and end what still hangs on it."""
        name = sql.lock_key("replica", replica)
        gone = bool((await self.ask(sql.IS_FREE, (name,)))[0][0])
        if expired:
            # It may have been paused in the middle of a transaction, with rows locked.
            await self.ask(sql.END_CONNECTIONS, (sql.application_name(replica),))
        if not (expired or gone):
            return
        if await self.ask(sql.BURY, {"replica": replica, "incarnation": incarnation, "gone": gone}):
            _log.warning("a replica is gone", extra={"replica": replica})
            await self._end_holder(name)

    async def _end_holder(self, name: int) -> None:
        await self.ask(sql.END_HOLDER, sql.halves(name))

    def _own(self) -> dict[str, object]:
        standing = self._standing
        return {"replica": standing.replica_id, "incarnation": standing.incarnation, "lease_s": self._lease_s}

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                await connection.close()
