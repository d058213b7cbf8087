"""Overlays that tests write, and what operators see of a gateway that watches them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gateway_bench import Bench
from interlock import Gateway
from interlock.admin import Admin
from interlock.v1 import policy_pb2
from waiting import eventually_so

LOOPS = """package interlock.custom

findings contains {"verdict": "deny", "code": "slow", "message": "slow", "rule": "custom/slow"} if {
	count([1 | some a in digits; some b in digits; some c in digits; a * b == c]) > 0
}

digits := numbers.range(1, 3000)
"""


def denying(word: str, said: str = "") -> str:
    """A rule that denies the text `word`, and says `said`."""
    message = said or f"not {word}"
    return (
        "package interlock.custom\n\n# METADATA\n# title: A word\nfindings contains {\n"
        f'\t"verdict": "deny",\n\t"code": "word",\n\t"message": "{message}",\n\t"rule": "custom/word",\n'
        f'}} if {{\n\tinput.call.input.text == "{word}"\n}}\n'
    )


def overlay_in(directory: Path, source: str = "", name: str = "overlay") -> Path:
    """An overlay with one rule, or without any."""
    overlay = directory / name
    (overlay / "custom").mkdir(parents=True, exist_ok=True)
    # One that says nothing says that it is meant so.
    (overlay / "data.yaml").write_text("settings: {}\n")
    if source:
        (overlay / "custom" / "word.rego").write_text(source)
    return overlay


@asynccontextmanager
async def operating(at: Bench) -> AsyncIterator[Admin]:
    async with Gateway(at.gateway.endpoints.operators[0]) as gateway:
        yield Admin(gateway)


async def status_of(at: Bench) -> policy_pb2.PolicyStatus:
    async with operating(at) as admin:
        return await admin.policy_status()


async def until(at: Bench, condition: Callable[[policy_pb2.PolicyStatus], bool]) -> policy_pb2.PolicyStatus:
    """The first status that fulfils `condition`."""
    found: list[policy_pb2.PolicyStatus] = []

    async def fulfilled() -> bool:
        found[:] = [await status_of(at)]
        return condition(found[0])

    await eventually_so(fulfilled)
    return found[0]


async def texts(at: Bench, *words: str) -> list[str]:
    """What calls with these texts are answered."""
    session = at.agent.session("s")
    calls: list[Awaitable[str]] = [_text(session, word) for word in words]
    return list(await asyncio.gather(*calls))


async def _text(session: object, word: str) -> str:
    result = await session.call("echo", {"text": word})  # type: ignore[attr-defined]  # a session of the SDK
    return str(result.text)
