"""The embedded engine and a real OPA behind the engine `opa`, asked the same (ENG-2)."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import jsonschema_rs
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.decision import DecisionError
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.engine import PolicyEngine
from interlock_gateway.policy.opa.answers import read_answer
from interlock_gateway.policy.opa.client import OpaClient
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.placing import ROOT, place
from interlock_gateway.policy.opa.settings import OpaAccess, OpaBounds

PATIENCE_S = 30.0
AT_ONCE = 100
ONE_BY_ONE_EVERY = 10
OK = 200
UNDEFINED = "no decision: policy_undefined"
EMBEDDED = PoolSettings(workers=1, most_workers=2, timeout_s=PATIENCE_S, longest_wait_s=PATIENCE_S)
BOUNDS = OpaBounds(timeout_s=PATIENCE_S, load_s=60.0)
MAX_INPUT_BYTES = 1 << 24
MANY = """package {space}.parity

decisions[sprintf("%d", [number])] := decision if {{
	some number, call in input.calls
	decision := data.{space}.interlock.decision with input as call
}}
"""
DecideMany: TypeAlias = Callable[[list[bytes], list[str]], Awaitable[list[str] | None]]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One input about which the engines do not agree, as each decided it."""

    policies: str
    document: bytes
    embedded: str
    opa: str


@dataclass(slots=True)
class Comparison:
    """What came of comparing: how many agreed, by verdict or error, and which did not.

    `strange` of those that are counted are inputs that no gateway sends, because a field has a type that the schema
    does not let it have. `set_aside` are such inputs about which one engine fails or says the same in other words:
    they are not counted, neither for nor against.
    """

    conforms: Callable[[bytes], bool]
    agreed: Counter[str] = field(default_factory=Counter)
    strange: int = 0
    set_aside: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def counted(self) -> int:
        """How many inputs say something about the engines: about which they agree, or should."""
        return self.agreed.total() + len(self.disagreements)

    def add(self, found: Disagreement) -> None:
        """Take in one input that both have decided."""
        strange = not self.conforms(found.document)
        if found.embedded == found.opa:
            self.agreed[_kind(found.embedded)] += 1
        elif strange and (kind := _oddity(found)):
            self.set_aside[kind] += 1
            return
        else:
            self.disagreements.append(found)
        self.strange += strange


def conforming(schema: dict[str, Any]) -> Callable[[bytes], bool]:
    """Whether every field of an input has a type that the schema lets it have; fields may be missing."""
    validator = jsonschema_rs.validator_for(_nothing_required(schema))

    def conforms(document: bytes) -> bool:
        return bool(validator.is_valid(json.loads(document)))

    return conforms


async def compare(
    name: str, bundle: PolicyBundle, documents: Iterable[bytes], opa: str, comparison: Comparison, *, count: int
) -> None:
    """Let both engines decide documents under one bundle until `count` more are counted, or there are no more.

    `opa` is the path of the server's socket.
    """
    rest, wanted = iter(documents), comparison.counted + count
    embedded = EmbeddedEngine(bundle, EMBEDDED, max_input_bytes=MAX_INPUT_BYTES)
    access = OpaAccess(host="localhost", port=80, socket=opa)
    server = OpaEngine(access, BOUNDS, SystemClock(), bundle=bundle, max_input_bytes=MAX_INPUT_BYTES)
    await embedded.start()
    try:
        await server.start()
        async with many_at_once(access, bundle) as decide_many:
            for number, batch in enumerate(_batches(rest, lambda: wanted - comparison.counted)):
                ours = await asyncio.gather(*(decided(embedded, document) for document in batch))
                # Every so often each by itself, the way that a gateway asks.
                theirs = None if number % ONE_BY_ONE_EVERY == 0 else await decide_many(batch, ours)
                if theirs is None:
                    theirs = await asyncio.gather(*(decided(server, document) for document in batch))
                for document, mine, other in zip(batch, ours, theirs, strict=True):
                    comparison.add(Disagreement(name, document, mine, other))
    finally:
        await server.close()
        await embedded.close()


@asynccontextmanager
async def many_at_once(access: OpaAccess, bundle: PolicyBundle) -> AsyncIterator[DecideMany]:
    """Has OPA decide many inputs in one question, with the policies that an engine has brought there.

    One that fails fails them all: those about which the embedded engine fails are asked one by one, and all are
    (`None`) when another one does.
    """
    placed = place(bundle)
    space = f"{ROOT}.{placed.name}"
    client = OpaClient(access, connections=1, answer_bytes=1 << 28)
    await client.start()
    problem = await client.put_policy("parity", MANY.format(space=space))
    assert not problem, problem

    async def one(document: bytes) -> str:
        reply = await client.decide(placed.path, document)
        try:
            return _canonical(read_answer(reply).document)
        except DecisionError as error:
            return f"no decision: {error.code.value}"

    async def decide_many(documents: list[bytes], ours: list[str]) -> list[str] | None:
        some = [document for document, mine in zip(documents, ours, strict=True) if not mine.startswith("no")]
        reply = await client.decide(f"{placed.data_path}/parity/decisions", b'{"calls":[%b]}' % b",".join(some))
        if reply.status != OK:
            return None
        found = reply.document().get("result", {})
        assert isinstance(found, dict)
        decisions = (found.get(str(number)) for number in range(len(some)))
        said = [_canonical(json.dumps(one)) if one is not None else UNDEFINED for one in decisions]
        rest = iter(said)
        return [
            await one(document) if mine.startswith("no") else next(rest)
            for document, mine in zip(documents, ours, strict=True)
        ]

    try:
        yield decide_many
    finally:
        await client.close_connection()


async def decided(engine: PolicyEngine, document: bytes) -> str:
    """The whole decision in one form, with the type of every number; or the code with which there is none."""
    try:
        answer = await engine.evaluate(document)
    except DecisionError as error:
        return f"no decision: {error.code.value}"
    return _canonical(answer.document)


def _canonical(decision: bytes | str) -> str:
    return json.dumps(json.loads(decision), sort_keys=True)


def _oddity(found: Disagreement) -> str:
    """In what way they differ about an input that is none; empty for a way that is not accepted there either."""
    if found.embedded.startswith("no decision"):
        return "the embedded engine fails and OPA decides"
    if found.opa.startswith("no decision"):
        return "OPA fails and the embedded engine decides"
    return "other words" if _without_words(found.embedded) == _without_words(found.opa) else ""


def _without_words(decision: str) -> Any:
    found = json.loads(decision)
    reasons = sorted((reason.get("code"), reason.get("rule")) for reason in found.pop("reasons", ()))
    return {**found, "reasons": reasons, "notes": len(found.get("notes", ()))}


def _nothing_required(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _nothing_required(part) for name, part in schema.items() if name != "required"}
    return [_nothing_required(part) for part in schema] if isinstance(schema, list) else schema


def _kind(decision: str) -> str:
    if decision.startswith("no decision"):
        return decision
    found: dict[str, Any] = json.loads(decision)
    return str(found.get("verdict"))


def _batches(documents: Iterator[bytes], missing: Callable[[], int]) -> Iterator[list[bytes]]:
    """Up to `AT_ONCE` of them at a time, and never more than are `missing`."""
    while batch := list(islice(documents, min(AT_ONCE, missing()))):
        yield batch
