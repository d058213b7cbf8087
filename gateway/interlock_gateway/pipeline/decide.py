"""One evaluation per call, and the one place where failing to decide becomes a denial (PIPE-6)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from interlock_gateway.core.answer import PolicyAnswer
from interlock_gateway.core.decision import Decision, DecisionError, GatewayErrorCode, denial_for_failure
from interlock_gateway.pipeline.policy_result import read_decision

_log = logging.getLogger(__name__)


class PolicyEvaluator(Protocol):
    """What deciding needs of a policy engine."""

    @property
    def revision(self) -> str:
        """The active policy's revision, empty when there is none."""
        ...

    @property
    def profile(self) -> str:
        """The active profile."""
        ...

    @property
    def reads_previous(self) -> bool:
        """Whether a rule of the active policy may read the session's calls before; true when that is not known."""
        ...

    async def evaluate(self, input_json: bytes) -> PolicyAnswer:
        """The decision document's JSON for one input, and the policy that gave it. Raises `DecisionError`."""
        ...


async def decide(engine: PolicyEvaluator, decision_id: str, gather_input: Callable[[], Awaitable[bytes]]) -> Decision:
    """The decision for one call: policy's, or a denial that says why there is none. Never raises, but for cancellation.

    `gather_input` gives the policy input; it is called here so that its failures are denials too.
    """
    revision, profile = engine.revision, engine.profile
    try:
        answer = await engine.evaluate(await gather_input())
        return read_decision(answer.document, decision_id=decision_id, policy=answer.policy)
    except DecisionError as error:
        code, message = error.code, error.message
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a native engine's panic is not an `Exception`; the call is denied
        _log.exception("deciding failed", extra={"decision_id": decision_id})
        code, message = GatewayErrorCode.INTERNAL, "the gateway could not decide about this call"
    return denial_for_failure(decision_id, code, message, revision=revision, profile=profile)
