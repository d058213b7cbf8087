"""Reads back from an OPA server which policies it has, to look at them before they may decide (ENG-5, LIFE-3)."""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.decision import DecisionError
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.answers import read_policy
from interlock_gateway.policy.opa.client import OpaClient, Reply, check_status
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.found import (
    FoundPolicies,
    named_in_bundle,
    owners,
    reached,
    read_modules,
    roots_of,
    without_rules,
)
from interlock_gateway.policy.opa.settings import OpaAccess

NAME_PATH = "interlock/response/policy"
READ_S = 10.0
"""How long OPA may take for one of its answers about what it has."""
MOST_BYTES = 64 * 1024 * 1024
"""The largest answer about policies: OPA adds to each what it compiled of it, some nine times its size."""
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Named:
    """What OPA says it has, in one transaction: the policy's own name, and the revisions of bundles by their names."""

    policy: ActivePolicy
    bundles: Mapping[str, str]


class OpaReader:
    """Asks one OPA what it has, on a connection of its own. Each method raises `OpaFaultError`.

    One request may take `request_s`.
    """

    def __init__(self, access: OpaAccess, request_s: float) -> None:
        self._client = OpaClient(access, connections=1, answer_bytes=MOST_BYTES)
        self._request_s = request_s
        self._started = False

    async def start(self) -> None:
        """Prepare the connection; nothing is sent. Raises `PolicyUnavailableError` for files that cannot be used."""
        await self._client.start()
        self._started = True

    async def named(self) -> Named:
        """Which policy answers, and the bundles that are loaded; nothing of it is more than a name."""
        with contextlib.suppress(PolicyUnavailableError):
            # The token read before stays, and the engine says what is the matter with the file.
            self._client.token.read()
        reply = await self._in_time(self._client.name_policy(NAME_PATH))
        try:
            policy = read_policy(reply)
        except DecisionError as error:
            raise OpaFaultError(Trouble.NO_POLICY, error.message) from None
        told = _mapping(_mapping(reply.document(), "provenance"), "bundles")
        bundles = {name: str(_mapping(told, name).get("revision", "")) for name in told}
        return Named(policy, bundles)

    async def read(self) -> tuple[Named, FoundPolicies]:
        """Everything that decides there, and what it was called meanwhile."""
        for _ in range(_ATTEMPTS):
            named = await self.named()
            found = await self._read(named)
            if await self.named() == named:
                break
        # What calls itself something else each time is for those to judge who look at it.
        return named, found

    async def close(self) -> None:
        """Close the connection."""
        if self._started:
            await self._client.close_connection()

    async def _read(self, named: Named) -> FoundPolicies:
        answer = await self._get("policies")
        modules = await asyncio.to_thread(lambda: reached(read_modules(_document(answer, "policies"))))
        roots = roots_of(modules)
        manifests = owners(await self._manifests(), roots)
        data: JsonObject = {}
        for root in sorted(roots):
            reply = await self._get(f"data/{root}")
            if (value := _document(reply, f"data/{root}").get("result")) is not None:
                data[root] = value
        own = await asyncio.to_thread(without_rules, data, modules)
        return FoundPolicies(named.policy, named_in_bundle(modules, manifests), own, manifests)

    async def _manifests(self) -> dict[str, JsonObject]:
        path = "data/system/bundles"
        listed = _mapping(_document(await self._get(path), path), "result")
        return {name: _mapping(_mapping(listed, name), "manifest") for name in listed}

    async def _get(self, path: str) -> Reply:
        try:
            return await self._in_time(self._client.ask_for(path))
        except OpaFaultError as fault:
            if fault.trouble is not Trouble.NOT_ALLOWED:
                raise
            words = f"it does not let the gateway read which policies it has: GET /v1/{path}"
            raise OpaFaultError(fault.trouble, f"{words} ({fault.words})") from None

    async def _in_time(self, asking: Coroutine[Any, Any, Reply]) -> Reply:
        try:
            async with asyncio.timeout(self._request_s):
                return await asking
        except TimeoutError:
            raise OpaFaultError(Trouble.TIMEOUT, f"it did not answer within {self._request_s:g} s") from None


def _document(reply: Reply, path: str) -> JsonObject:
    """What it answered. Raises `OpaFaultError`."""
    try:
        check_status(reply)
    except OpaFaultError as fault:
        more = "; a rule there fails when it is asked without an input" if path.startswith("data/") else ""
        raise OpaFaultError(fault.trouble, f"{fault.words} to GET /v1/{path}{more}") from None
    return reply.document()


def _mapping(document: JsonObject, name: str) -> JsonObject:
    value: JsonValue = document.get(name)
    return value if isinstance(value, dict) else {}
