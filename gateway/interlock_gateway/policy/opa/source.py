"""Where the policies in OPA come from: the gateway pushes them, or OPA loads a bundle itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.client import OpaClient
from interlock_gateway.policy.opa.delivery import USED_EVERY_S, Delivery
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.placing import PlacedPolicies, place
from interlock_gateway.policy.opa.settings import OpaBounds
from interlock_gateway.policy.settings import PolicySourceError

_log = logging.getLogger(__name__)
Ask: TypeAlias = Callable[[str], Awaitable[PolicyAnswer]]
BUNDLE_PATH = "interlock/response"
"""What the shipped policies answer a gateway with, in a bundle that OPA loads itself."""
NOWHERE = "interlock_pushed/nothing"
_ASKED_AT_MOST = 3


class PolicySource(Protocol):
    """What differs between the two ways."""

    is_ours: bool
    """Whether the gateway says which policies decide."""

    @property
    def expected(self) -> ActivePolicy | None:
        """The one policy whose decisions count: `None` while there is none, or when OPA says."""
        ...

    @property
    def policy_path(self) -> str:
        """The path that says which policy OPA has."""
        ...

    def admit(self, policy: ActivePolicy) -> None:
        """Raise `OpaFaultError` unless decisions of this policy, which OPA says it has, count."""
        ...

    async def decided(self, ask: Ask) -> PolicyAnswer:
        """The answer to one call. Raises what `ask` raises."""
        ...

    async def bring(self) -> ActivePolicy | None:
        """Bring the policies, when that is the gateway's to do; which are there then."""
        ...

    async def replace(self, bundle: PolicyBundle) -> None:
        """Bring other policies and let them decide. Raises `PolicyUnavailableError` or `OpaFaultError`."""
        ...

    async def keep_house(self) -> None:
        """Do what is to be done now and then."""
        ...

    async def close(self) -> None:
        """Stop what is under way."""
        ...


class BundleSource:
    """OPA loads a bundle itself, and the gateway says which of those may decide.

    With `unchecked` it does not: an operator has taken that over, and whatever OPA has decides.
    """

    is_ours = False
    policy_path = f"{BUNDLE_PATH}/policy"

    def __init__(self, clock: Clock, *, unchecked: bool = False) -> None:
        self._clock = clock
        self._unchecked = unchecked
        self._accepted: ActivePolicy | None = None
        self._offered: ActivePolicy | None = None
        # How long either counts, on the monotonic clock: whoever reads OPA's policies moves it on.
        self._until = 0.0
        # How often another was accepted: two acceptances of one name are not one.
        self._turn = 0
        self._refused: tuple[ActivePolicy | None, str] | None = None

    @property
    def expected(self) -> ActivePolicy | None:
        """The policy that was accepted last, as long as that counts."""
        return self._accepted if self._counts() else None

    def admit(self, policy: ActivePolicy) -> None:
        """Raise `OpaFaultError` unless decisions of this policy count."""
        if self._unchecked or policy == self.expected:
            return
        why = "the gateway has not accepted"
        if self._refused is not None and self._refused[0] in {None, policy}:
            why = f"the gateway has refused: {self._refused[1]}"
        elif policy == self._accepted:
            why = "the gateway has accepted, and could not read again for too long"
        raise OpaFaultError(Trouble.NOT_ACCEPTED, f"it has the policy {policy.revision}, which {why}")

    async def decided(self, ask: Ask) -> PolicyAnswer:
        """The answer, of the policy that was accepted: OPA says which it is in the same evaluation.

        What was asked before that was accepted is asked again: something else may have answered under its name.
        """
        for _ in range(_ASKED_AT_MOST):
            turn = self._turn
            answer = await ask(BUNDLE_PATH)
            if turn == self._turn:
                self.admit(answer.policy)
                return answer
        raise OpaFaultError(Trouble.NOT_ACCEPTED, "other policies were accepted each time while it answered")

    async def bring(self) -> ActivePolicy | None:
        """Nothing: that is OPA's to do."""
        return None

    def offer(self, policy: ActivePolicy, until: float) -> None:
        """OPA has this policy, and it may be accepted, until then on the monotonic clock. It ends any other."""
        if policy != self.expected:
            self._accepted = None
        self._offered, self._until = policy, until

    def hold(self, until: float) -> bool:
        """OPA was seen to have it still, offered or accepted: it counts until then. No, when it counts no more."""
        if not self._counts():
            return False
        self._until = until
        return True

    async def replace(self, bundle: PolicyBundle) -> None:
        """Let this policy decide, which was offered. Raises `PolicyUnavailableError` if it is no longer."""
        if self._unchecked:
            if bundle.modules:
                raise PolicyUnavailableError("OPA loads its policies itself (policy.opa.policies: bundle)")
            return
        if bundle.policy != self._offered or not self._counts():
            problem = "OPA's policies changed, or were not read for too long, while they were checked"
            raise PolicyUnavailableError(problem)
        if bundle.policy != self._accepted:
            self._turn += 1
        self._accepted, self._offered, self._refused = bundle.policy, None, None

    def refuse(self, policy: ActivePolicy | None, why: str) -> None:
        """Let nothing that OPA has decide any more: `why` is of this policy, or of all; empty when it is not known."""
        self._accepted = self._offered = None
        self._refused = (policy, why) if why else None

    async def keep_house(self) -> None:
        """Nothing to be done."""

    async def close(self) -> None:
        """Nothing is under way."""

    def _counts(self) -> bool:
        return self._clock.monotonic() < self._until


class PushedSource:
    """The gateway pushes; each bundle lies in a place of its own."""

    is_ours = True

    def __init__(self, client: OpaClient, bounds: OpaBounds, clock: Clock, bundle: PolicyBundle | None) -> None:
        self._clock = clock
        self._delivery = Delivery(client, clock, request_s=bounds.load_s)
        self._placed = None if bundle is None else _placed(bundle)
        self._bringing: asyncio.Task[None] | None = None
        self._replacing = asyncio.Lock()
        self._said_at = 0.0
        self._bounds = bounds
        self._again_at = 0.0
        self._rest_s = bounds.retry_s

    @property
    def expected(self) -> ActivePolicy | None:
        """The policy of the active bundle."""
        return None if self._placed is None else self._placed.policy

    @property
    def policy_path(self) -> str:
        """Where the active bundle lies; where nothing does while there is none."""
        return NOWHERE if self._placed is None else self._placed.policy_path

    def admit(self, policy: ActivePolicy) -> None:
        """It was asked for by its place, where nothing else lies."""

    async def decided(self, ask: Ask) -> PolicyAnswer:
        """The answer of the policies active now; brought again, and asked again, when they are not there."""
        placed = self._placed
        if placed is None:
            raise DecisionError(GatewayErrorCode.POLICY_UNAVAILABLE, "no policy is in force yet; every call is denied")
        try:
            return _of(placed, await ask(placed.path))
        except OpaFaultError as fault:
            if fault.trouble is not Trouble.NO_POLICY:
                raise
        try:
            await self.bring()
        except PolicyUnavailableError as error:
            raise OpaFaultError(Trouble.REJECTED, str(error)) from None
        return _of(placed, await ask(placed.path))

    async def bring(self) -> ActivePolicy | None:
        """Bring the active bundle; who comes while that is under way waits for it.

        After a failure the next ones fail alike for a while, which gets longer.
        """
        placed = self._placed
        if placed is None:
            return None
        if self._bringing is None or (self._bringing.done() and not self._rests()):
            self._bringing = asyncio.get_running_loop().create_task(self._deliver(placed))
            # Also when nobody waits any more for how it ends.
            self._bringing.add_done_callback(_looked_at)
        # Another's cancellation does not end it: it is for all who wait.
        await asyncio.shield(self._bringing)
        return placed.policy

    async def replace(self, bundle: PolicyBundle) -> None:
        """Bring `bundle`, see that it is there, then swap; the old one stays for those that ask it."""
        async with self._replacing:
            placed = _placed(bundle)
            await self._delivered(placed)
            self._placed = placed

    async def keep_house(self) -> None:
        """Say now and then that the policies are used, and delete those that nobody uses."""
        placed = self._placed
        if placed is None or self._clock.now() - self._said_at < USED_EVERY_S:
            return
        self._said_at = self._clock.now()
        try:
            await self._delivery.mark_used(placed)
            if deleted := await self._delivery.clean(lambda: self._placed.name if self._placed is not None else ""):
                _log.info("deleted policies in OPA that nobody uses", extra={"deleted": deleted})
        except (OpaFaultError, TimeoutError) as error:
            _log.warning("policies in OPA that nobody uses cannot be deleted", extra={"problem": str(error)})

    async def close(self) -> None:
        """Stop bringing."""
        if self._bringing is not None and not self._bringing.done():
            self._bringing.cancel()
            await asyncio.wait([self._bringing])

    def _rests(self) -> bool:
        return asyncio.get_running_loop().time() < self._again_at

    async def _deliver(self, placed: PlacedPolicies) -> None:
        try:
            await self._delivered(placed)
        except BaseException:
            self._again_at = asyncio.get_running_loop().time() + self._rest_s
            self._rest_s = min(2 * self._rest_s, self._bounds.longest_retry_s)
            raise
        self._rest_s = self._bounds.retry_s

    async def _delivered(self, placed: PlacedPolicies) -> None:
        """Bring it, unless it is there whole."""
        try:
            if not await self._delivery.is_whole(placed):
                await self._delivery.push(placed)
                await self._check_whole(placed)
        except TimeoutError:
            raise OpaFaultError(Trouble.TIMEOUT, "it did not take the policies in time") from None
        self._said_at = 0.0

    async def _check_whole(self, placed: PlacedPolicies) -> None:
        if not await self._delivery.is_whole(placed):
            raise OpaFaultError(Trouble.NO_POLICY, "it has not what it was given: something else writes there too")


def _placed(bundle: PolicyBundle) -> PlacedPolicies:
    try:
        return place(bundle)
    except PolicySourceError as error:
        raise PolicyUnavailableError(str(error)) from None


def _of(placed: PlacedPolicies, answer: PolicyAnswer) -> PolicyAnswer:
    """The answer, when it is of the policy that was asked. Raises `OpaFaultError`."""
    if answer.policy != placed.policy:
        raise OpaFaultError(Trouble.NO_POLICY, "another policy answered than was asked")
    return answer


def _looked_at(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        task.exception()
