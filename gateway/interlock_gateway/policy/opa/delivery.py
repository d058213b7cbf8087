"""Brings policies into OPA, and takes those away that nobody uses any more.

Several gateways may do so at one OPA at the same time, and an operator may write there too: whatever comes of that, a
decision counts only when all of its policies are there (`placing.py`). The index says who is where: for each place its
modules, and when a gateway last said that it uses it.
"""

import asyncio
import re
from collections.abc import Callable

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.answers import read_policy
from interlock_gateway.policy.opa.client import OpaClient
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.outline import outline
from interlock_gateway.policy.opa.placing import INDEX, ROOT, PlacedPolicies

USED_EVERY_S = 600.0
"""How often a gateway says that it uses what it pushed."""
STALE_S = 6 * USED_EVERY_S
_NAME = re.compile(r"r[0-9a-f]{24}")
_ID = re.compile(r"interlock/(r[0-9a-f]{24})/[a-z0-9]{1,8}")


class Delivery:
    """Pushes placed policies to one OPA. Everything raises `OpaFaultError` when OPA gives no usable answer."""

    def __init__(self, client: OpaClient, clock: Clock, *, request_s: float) -> None:
        self._client = client
        self._clock = clock
        self._request_s = request_s
        self.pushed = 0

    async def is_whole(self, placed: PlacedPolicies) -> bool:
        """Whether all of it is there."""
        try:
            async with self._in_time():
                reply = await self._client.decide(placed.policy_path, b"{}")
            return read_policy(reply) == placed.policy
        except OpaFaultError as fault:
            if fault.trouble is Trouble.NO_POLICY:
                return False
            raise

    async def push(self, placed: PlacedPolicies) -> None:
        """Bring it there whole. Raises `PolicyUnavailableError` when OPA does not take it, naming the first problem."""
        await self.mark_used(placed)
        await self._push_modules(placed)
        async with self._in_time():
            await self._client.put_data(placed.data_path, placed.data)
        self.pushed += 1

    async def mark_used(self, placed: PlacedPolicies) -> None:
        """Say that it is in use now."""
        entry: JsonObject = {"modules": list[JsonValue](placed.ids), "used_at": self._clock.now()}
        async with self._in_time():
            await self._client.put_data(f"{INDEX}/{placed.name}", entry)

    async def clean(self, in_use: Callable[[], str]) -> int:
        """Delete what no gateway has said to use for an hour; how many places that were.

        `in_use` names the place that this gateway uses at that moment.
        """
        async with self._in_time():
            index = await self._client.read_data(INDEX)
        deleted = 0
        for name, entry in index.items():
            if name == in_use() or not self._is_stale(name, entry):
                continue
            # The data first: without it nothing else counts. The index last, so that what is left is found again.
            async with self._in_time():
                await self._client.remove_data(f"{ROOT}/{name}")
            await self._remove_modules(_modules(name, entry))
            async with self._in_time():
                await self._client.remove_data(f"{INDEX}/{name}")
            deleted += 1
        return deleted

    async def _push_modules(self, placed: PlacedPolicies) -> None:
        """Outlines first, so that every function is there that is called."""
        for name, source in placed.modules:
            async with self._in_time():
                await self._client.put_policy(name, outline(source))
        left = [*placed.modules, placed.entry]
        while left:
            refused = []
            for name, source in left:
                async with self._in_time():
                    problem = await self._client.put_policy(name, source)
                if problem:
                    refused.append((name, source, problem))
            # Again as long as that helps: an outline is made without understanding the module.
            if len(refused) == len(left):
                words = placed.relocated(refused[0][2])
                raise PolicyUnavailableError(f"OPA does not take the policies: {words}")
            left = [(name, source) for name, source, _ in refused]

    async def _remove_modules(self, names: list[str]) -> None:
        """OPA keeps a module while others call its functions: first none calls any."""
        for name in names:
            async with self._in_time():
                if source := await self._client.read_policy(name):
                    await self._client.put_policy(name, outline(source))
        for name in names:
            async with self._in_time():
                if not await self._client.remove_policy(name):
                    raise OpaFaultError(Trouble.REJECTED, f"it keeps {name}: something else uses it")

    def _is_stale(self, name: str, entry: JsonValue) -> bool:
        if _NAME.fullmatch(name) is None or not isinstance(entry, dict):
            return False
        used_at = entry.get("used_at")
        return isinstance(used_at, int | float) and self._clock.now() - used_at > STALE_S

    def _in_time(self) -> asyncio.Timeout:
        return asyncio.timeout(self._request_s)


def _modules(name: str, entry: JsonValue) -> list[str]:
    """The modules that the index says are at this place; only those that can be, whoever wrote it."""
    listed = entry.get("modules") if isinstance(entry, dict) else None
    found = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return [one for one in found if (match := _ID.fullmatch(one)) and match[1] == name]
