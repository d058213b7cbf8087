"""Policies that an OPA has without a gateway, put there as an operator would, and the origin that reads them back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asked_opa import HeldClock, asking, does, unix
from interlock_gateway.config import PolicyConfig
from interlock_gateway.operate.policy_keeper import PolicyKeeper, loaded
from interlock_gateway.operate.policy_watch import PolicyWatch
from interlock_gateway.policy.bundle import make_bundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.loader import shipped_policies
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.origin import OpaOrigin
from interlock_gateway.policy.opa.reading import OpaReader
from interlock_gateway.policy.opa.settings import OpaAccess
from opa_process import OpaProcess

MAIN = """package interlock

import data.interlock.words

decision := {{"verdict": "allow", "said": words.first(input)}} if input.do

decision := {{"verdict": "deny", "said": "{said}"}} if not input.do
"""
WORDS = """package interlock.words

first(document) := data.interlock.settings.word if document.do == "answer"
"""


def policies(word: str, **more: str) -> dict[str, str]:
    """Modules by their ids, whose decisions say `word`; those of `more` besides, with dots for `_`."""
    response = (shipped_policies() / "response.rego").read_text()
    named = {name.replace("_rego", ".rego"): source for name, source in more.items()}
    return {"main.rego": MAIN.format(said=word), "words.rego": WORDS, "response.rego": response, **named}


def data_of(word: str, modules: dict[str, str], **more: Any) -> dict[str, Any]:
    """The data of a bundle of these modules, which calls it what it is."""
    ours: dict[str, Any] = {"profile": "standard", "settings": {"word": word}}
    revision = make_bundle(modules, {"interlock": ours}, profile="standard").revision
    return {**ours, "revision": revision, "enforced": True, **more}


async def put(opa: OpaProcess, modules: dict[str, str], data: dict[str, Any]) -> None:
    """Have OPA hold these, and no others."""
    await does(_put, opa, modules, data)


def _put(opa: OpaProcess, modules: dict[str, str], data: dict[str, Any]) -> None:
    opa.ask("PUT", "/v1/data/interlock", data)
    # What others call comes before them.
    for name in sorted(modules, key=lambda one: ("words.rego", "lib.rego", "main.rego", one).index(one)):
        opa.ask("PUT", f"/v1/policies/{name}", modules[name].encode())
    for name in set(opa.policies()) - modules.keys():
        opa.ask("DELETE", f"/v1/policies/{name}")


async def put_word(opa: OpaProcess, word: str, **more: str) -> str:
    """Have OPA hold policies that say `word`; their revision."""
    modules = policies(word, **more)
    data = data_of(word, modules)
    await put(opa, modules, data)
    return str(data["revision"])


@dataclass
class Reading:
    """An engine whose policies OPA loads itself, and where they are read."""

    engine: OpaEngine
    origin: OpaOrigin
    clock: HeldClock

    async def take(self) -> tuple[Problem, ...]:
        """What a gateway does when it sees something new; why that was refused."""
        bundle, problems = await loaded(self.origin)
        if bundle is not None:
            await self.engine.replace(bundle)
            await self.origin.activated()
        return problems

    def watched(self) -> PolicyWatch:
        """Who does it in a gateway, by itself; it looks when it is told to."""
        config = PolicyConfig(engine="opa")
        return PolicyWatch(
            PolicyKeeper(
                config, self.engine, self.clock, origin=self.origin, bundle=None, on_reload=lambda _reload: None
            )
        )

    async def look_and_take(self) -> tuple[Problem, ...]:
        """Look first."""
        await self.origin.look()
        return await self.take()


@asynccontextmanager
async def reading(
    opa: OpaProcess, kept: Path, access: OpaAccess | None = None, request_s: float = 10.0
) -> AsyncIterator[Reading]:
    """Both, started; nothing has been looked at yet."""
    at = access or unix(opa.url)
    clock = HeldClock()
    async with asking(at, pushes=False, unchecked=False, clock=clock) as engine:
        reader = OpaReader(at, request_s)
        await reader.start()
        origin = OpaOrigin(engine, reader, kept, 1.0, clock)
        try:
            yield Reading(engine, origin, clock)
        finally:
            await origin.close()
