"""The Python SDK of the Interlock safety gateway: call tools through it, from an event loop or from threads.

    from interlock import Gateway

    async with Gateway("unix:/run/interlock/gateway.sock") as gateway:
        session = await gateway.open_session(intent="tidy up the docs")
        result = await session.call("read", {"path": "README.md"})
        print(result.for_model)

Only a result that is `completed` ran. The nouns live in modules named like them: `interlock.results`,
`interlock.decisions`, `interlock.calls`, `interlock.tools`, `interlock.journal`, `interlock.artifacts`,
`interlock.references`; the errors in `interlock.errors`; writing tools in `interlock.provider`, plug-ins of
a gateway in `interlock.extensions`; operators' and approvers' clients in `interlock.admin`; the test double in
`interlock.testing`; the gateway's tools in agents of other frameworks in `interlock.adapters`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock._gateway import Gateway, Session, SyncGateway, SyncSession
    from interlock.calls import Call, Deliverable
    from interlock.decisions import Decision, Verdict
    from interlock.errors import CallNotRunError, GatewayUnavailableError, InterlockError, OutcomeUnknownError
    from interlock.results import CallResult, CallStatus

# Loaded when asked for: whoever needs the stubs alone, such as the gateway, does not pay for the client.
_HOMES = {
    "Call": "interlock.calls",
    "CallNotRunError": "interlock.errors",
    "CallResult": "interlock.results",
    "CallStatus": "interlock.results",
    "Decision": "interlock.decisions",
    "Deliverable": "interlock.calls",
    "Gateway": "interlock._gateway",
    "GatewayUnavailableError": "interlock.errors",
    "InterlockError": "interlock.errors",
    "OutcomeUnknownError": "interlock.errors",
    "Session": "interlock._gateway",
    "SyncGateway": "interlock._gateway",
    "SyncSession": "interlock._gateway",
    "Verdict": "interlock.decisions",
}

__all__ = [
    "Call",
    "CallNotRunError",
    "CallResult",
    "CallStatus",
    "Decision",
    "Deliverable",
    "Gateway",
    "GatewayUnavailableError",
    "InterlockError",
    "OutcomeUnknownError",
    "Session",
    "SyncGateway",
    "SyncSession",
    "Verdict",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
