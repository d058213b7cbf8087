"""An embedded engine with real workers, from its start to its end, and what it decides."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from engine_bundles import bundle
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.facts import FactRequest, extract
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import CaseFile, document_of
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.trial import ONE_WORKER

ANSWER = b'{"do": "answer", "say": "hello"}'


@asynccontextmanager
async def running_engine(
    policies: PolicyBundle | None = None, *, settings: PoolSettings = ONE_WORKER
) -> AsyncIterator[EmbeddedEngine]:
    """With the bundle that misbehaves on demand, unless there is another."""
    engine = EmbeddedEngine(policies or bundle(), settings)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


async def with_shipped_policies() -> AsyncIterator[EmbeddedEngine]:
    """A fixture, once it is named as one."""
    async with running_engine(load_bundle()) as engine:
        yield engine


async def said(engine: EmbeddedEngine) -> str:
    """What its policies say about the plain input."""
    return str(json.loads((await engine.evaluate(ANSWER)).document)["said"])


async def failure(engine: EmbeddedEngine, document: bytes) -> GatewayErrorCode:
    """Why it does not decide about an input."""
    with pytest.raises(DecisionError) as caught:
        await engine.evaluate(document)
    assert "/" not in caught.value.message, "a path of the host must not reach the model"
    return caught.value.code


async def verdict(engine: EmbeddedEngine, script: str, root: object) -> str:
    """What the shipped policies decide about a script for the shell in a workspace."""
    given = {"command": script}
    facts = extract(FactRequest("bash", "bash", given, {}, {}, str(root), (str(root),), (str(root),)))
    tool = {"name": "bash", "metadata": {"destructive": True, "open_world": True, "permission_class": "bash"}}
    call = {"input": given, "facts": facts}
    case = CaseFile.model_validate({"tool": tool, "call": call, "expect": {"verdict": "deny"}})
    answer = await engine.evaluate(json.dumps(document_of(case)).encode())
    decided: str = json.loads(answer.document)["verdict"]
    return decided
