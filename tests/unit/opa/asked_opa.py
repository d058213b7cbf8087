"""Engines that ask a real OPA, and small bundles for them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.settings import OpaAccess, OpaBounds

T = TypeVar("T")

# A machine that is busy with other tests is no server that hangs.
PATIENT = OpaBounds(timeout_s=10.0, retry_s=0.05, longest_retry_s=0.2, look_s=0.05)
STRICT = OpaBounds(timeout_s=0.3, retry_s=0.05, longest_retry_s=0.2, look_s=0.05)
ASK = b'{"do": "answer"}'

TERMS = "package interlock.terms\n\nanswer(document) := document.do\n"
RULES = """package interlock

import data.interlock.terms

decision := {{"verdict": "allow", "said": "{said}"}} if terms.answer(input) == "answer"

decision := {{"verdict": "deny"}} if input.do == "conflict"

decision := {{"verdict": "allow"}} if input.do == "conflict"

decision := {{"verdict": "allow", "steps": steps}} if input.do == "loop"

decision := {{"verdict": "allow", "size": count(input.filler)}} if input.do == "measure"

decision := {{"verdict": "allow", "much": numbers.range(1, 200000)}} if input.do == "talk"

digits := numbers.range(1, 1000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])
"""


class HeldClock:
    """Both times, set forward by hand."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_s

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


def saying(said: str, **more: str) -> PolicyBundle:
    """A bundle of two packages whose decisions say `said`."""
    sources = {"main.rego": RULES.format(said=said), "terms.rego": TERMS, **more}
    return make_bundle(sources, {"interlock": {"settings": {}}}, profile="standard")


def unix(path: Path | str) -> OpaAccess:
    """A server on a Unix socket, `unix:PATH` as well."""
    return OpaAccess(host="localhost", port=80, socket=str(path).removeprefix("unix:"))


@asynccontextmanager
async def asking(
    access: OpaAccess,
    policies: PolicyBundle | None = None,
    bounds: OpaBounds = PATIENT,
    *,
    clock: HeldClock | None = None,
    pushes: bool = True,
    unchecked: bool = True,
) -> AsyncIterator[OpaEngine]:
    """An engine, started; one that does not push takes what there is, unless that is not to be `unchecked`."""
    bundle = policies or saying("hello") if pushes else None
    engine = OpaEngine(
        access,
        bounds,
        clock or HeldClock(),
        bundle=bundle,
        pushes=pushes,
        unchecked=unchecked and not pushes,
        max_input_bytes=1 << 23,
    )
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()


async def said(engine: OpaEngine, document: bytes = ASK) -> Any:
    """What the decision says."""
    return json.loads((await engine.evaluate(document)).document)["said"]


async def failure(engine: OpaEngine, document: bytes = ASK) -> GatewayErrorCode:
    """The code with which a call is denied."""
    with pytest.raises(DecisionError) as caught:
        await engine.evaluate(document)
    assert "/" not in caught.value.message, "neither host nor path is for the model"
    return caught.value.code


async def does(what: Callable[..., T], *arguments: Any) -> T:
    """What somebody else does at the server; beside the loop, because OPA waits for one who writes to end."""
    return await asyncio.to_thread(what, *arguments)
