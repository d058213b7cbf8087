"""The policies that a gateway starts with, and where it gets others from."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.config import PolicyConfig
from interlock_gateway.operate.policy_keeper import loaded, problems_of
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.origin import DirectoryOrigin, Origin
from interlock_gateway.policy.settings import PolicySourceError

FIRST_FETCH_S = 5.0
"""How long a start waits for a bundle's source, before it takes the last good one from disk."""


@dataclass(frozen=True, slots=True)
class FirstPolicies:
    """What there is to start with: no bundle when there is none that may decide, and then every call is denied.

    `seen` is what the origin held, `problems` why that was not taken.
    """

    bundle: PolicyBundle | None
    seen: str
    problems: tuple[Problem, ...] = ()


def open_policies(config: PolicyConfig, kept: Path) -> Origin:
    """Where the configured policies come from; `kept` is where the last good bundle is. Blocks.

    Raises `PolicySourceError` when keys or addresses are none.
    """
    if config.bundle is None:
        return DirectoryOrigin(config.profile, config.overlays, config.watch_s)
    # What reads signatures takes a fifth of a second to load: only who has bundles pays for it.
    from interlock_gateway.policy.bundles.origin import open_origin  # noqa: PLC0415 -- as said above

    return open_origin(
        config.bundle, profile=config.profile, overlays=config.overlays, watch_s=config.watch_s, kept=kept
    )


async def first_policies(config: PolicyConfig, origin: Origin) -> FirstPolicies:
    """The policies to start with.

    Directories have to be there and fit: raises `PolicySourceError` and `InspectionError`. A bundle that cannot be had,
    or is not fit, gives way to the last good one on disk.
    """
    if config.bundle is None:
        seen = await origin.look()
        return FirstPolicies(await origin.load(), seen)
    seen = ""
    problems: tuple[Problem, ...] = ()
    try:
        async with asyncio.timeout(FIRST_FETCH_S):
            seen = await origin.look()
        bundle, problems = await loaded(origin)
        if bundle is not None:
            return FirstPolicies(bundle, seen)
    except PolicySourceError as error:
        problems = problems_of(error)
    except TimeoutError:
        problems = (Problem("", 0, "bundle_unreachable", f"took more than {FIRST_FETCH_S:.0f} s"),)
    return await _from_disk(origin, seen, problems)


async def _from_disk(origin: Origin, seen: str, problems: tuple[Problem, ...]) -> FirstPolicies:
    try:
        return FirstPolicies(await origin.load_kept(), seen, problems)
    except (PolicySourceError, InspectionError) as error:
        return FirstPolicies(None, seen, (*problems, *problems_of(error)))
