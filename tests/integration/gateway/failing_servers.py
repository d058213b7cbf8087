"""Faults of an OPA server that decides (REL-1, ENG-3)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from broken_opa import Client, Serve, always, answered, drop_by_drop, never, then_ends
from failing_scene import Begins, Fault, Scene
from interlock_gateway.core.decision import GatewayErrorCode as Code
from interlock_gateway.policy.loader import read_bundle

POLICY = {"revision": read_bundle().revision, "profile": "standard", "enforced": True}
ALLOW = {"verdict": "allow", "reasons": [{"code": "fine", "message": "fine", "rule": "custom/fine"}]}
UNSENDABLE = {**ALLOW, "obligations": {"set": {"text": "\ud800"}}}


def says(decision: object, **policy: object) -> Serve:
    """Answer as OPA with the gateway's policies would; `policy` is what it says of them otherwise."""
    named = {**POLICY, **policy}
    whole = {"result": {"decision": decision, "policy": named}}

    async def serve(client: Client) -> None:
        method, path, _ = client.last.split(b" ", 2)
        if method != b"POST":
            await client.send(answered({"result": []}))
        elif path.split(b"?")[0].endswith(b"/policy"):
            await client.send(answered({"result": named}))
        else:
            await client.send(answered(whole))

    return serve


ALLOWS = says(ALLOW)


def opa(serve: Serve) -> Begins:
    """An OPA that answers like this for a while."""

    @asynccontextmanager
    async def begins(scene: Scene) -> AsyncIterator[None]:
        assert scene.opa is not None
        scene.opa.serve = serve
        yield
        scene.opa.serve = ALLOWS

    return begins


@asynccontextmanager
async def refuses(scene: Scene) -> AsyncIterator[None]:
    """Nobody listens where OPA was, and the connections there were end."""
    assert scene.opa is not None
    away = scene.opa.path.with_suffix(".away")
    scene.opa.serve = then_ends()
    scene.opa.path.rename(away)
    yield
    scene.opa.serve = ALLOWS
    away.rename(scene.opa.path)


GONE = frozenset({Code.POLICY_UNAVAILABLE})


def fault(name: str, begins: Begins, code: Code, setting: str = "opa") -> Fault:
    """One of OPA: after a few failures it is not asked any more, and the code says so."""
    return Fault(f"OPA {name}", begins, frozenset({code}), GONE, setting=setting)


SERVER_FAULTS = (
    fault("refuses connections", refuses, Code.POLICY_UNAVAILABLE),
    fault("hangs", opa(never), Code.POLICY_TIMEOUT, "hasty opa"),
    fault("hangs in its answer", opa(drop_by_drop), Code.POLICY_TIMEOUT, "hasty opa"),
    fault("answers 500", opa(always(answered(b"oops", "500 Internal Server Error"))), Code.POLICY_UNAVAILABLE),
    fault("answers 503", opa(always(answered(b"", "503 Service Unavailable"))), Code.POLICY_UNAVAILABLE),
    fault("is cut off", opa(then_ends(answered({"result": ALLOW})[:-5])), Code.POLICY_UNAVAILABLE),
    fault("answers nothing", opa(always(answered(b""))), Code.POLICY_MALFORMED),
    fault("answers no JSON", opa(always(answered(b"allow"))), Code.POLICY_MALFORMED),
    fault("has no policies", opa(always(answered({}))), Code.POLICY_UNAVAILABLE),
    fault("has another revision", opa(says(ALLOW, revision="another")), Code.POLICY_UNAVAILABLE),
    fault("asks to set what cannot be sent", opa(says(UNSENDABLE)), Code.OBLIGATION_FAILED),
)
