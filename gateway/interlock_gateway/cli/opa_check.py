"""What `interlock check` says of policies that an OPA server loads itself."""

import asyncio
from dataclasses import dataclass

from interlock_gateway.config import Config
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.opa.accepting import fit_to_decide
from interlock_gateway.policy.opa.configured import opa_access
from interlock_gateway.policy.opa.faults import OpaFaultError
from interlock_gateway.policy.opa.found import FoundPolicies
from interlock_gateway.policy.opa.reading import READ_S, OpaReader
from interlock_gateway.policy.settings import PolicySourceError


@dataclass(frozen=True, slots=True)
class WhatOpaHas:
    """Whether what OPA has may decide, in a few words."""

    ok: bool
    detail: str


def check_what_opa_has(config: Config) -> WhatOpaHas:
    """Whether OPA lets its policies be read, and they are fit to decide. Their tests and their order are left out."""
    access = opa_access(config)
    if config.policy.opa.accept_unchecked_policies:
        return WhatOpaHas(
            ok=True,
            detail=f"WARNING: whatever OPA at {access.shown} has decides, and nothing of it is checked "
            "(policy.opa.accept_unchecked_policies)",
        )
    try:
        bundle = fit_to_decide(asyncio.run(_read(OpaReader(access, READ_S))))
    except OpaFaultError as fault:
        return WhatOpaHas(ok=False, detail=f"OPA at {access.shown}: {fault.words}")
    except (PolicySourceError, PolicyUnavailableError, InspectionError) as error:
        return WhatOpaHas(ok=False, detail=f"OPA at {access.shown}: {error}")
    return WhatOpaHas(ok=True, detail=f"revision {bundle.revision}, profile {bundle.profile}, in OPA at {access.shown}")


async def _read(reader: OpaReader) -> FoundPolicies:
    await reader.start()
    try:
        _, found = await reader.read()
    finally:
        await reader.close()
    return found
