"""The engine `opa`: an OPA server decides, and what is the matter with it denies (ENG-1, ENG-3)."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.answers import read_answer, read_policy
from interlock_gateway.policy.opa.breaker import Breaker, BreakerState
from interlock_gateway.policy.opa.client import OpaClient
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.settings import OpaAccess, OpaBounds
from interlock_gateway.policy.opa.slots import Slots, busy
from interlock_gateway.policy.opa.source import BundleSource, PolicySource, PushedSource

_log = logging.getLogger(__name__)
NO_POLICY = ActivePolicy("", "")


@dataclass(frozen=True, slots=True)
class OpaFigures:
    """How asking goes: `answers` counts by what came of it, `ok`, a code or a trouble."""

    breaker: BreakerState
    opened: int
    in_flight: int
    waiting: int
    answers: dict[str, int]


class OpaEngine:
    """Asks an OPA server, to which the policies of `replace` are brought; `bundle` is the first of them.

    Unless it `pushes`, OPA has its own, and `replace` says which of them may decide; any may if they are `unchecked`.
    Without a policy everything is denied until there is one. `on_adopted` is told what OPA is seen to have.
    """

    def __init__(
        self,
        access: OpaAccess,
        bounds: OpaBounds,
        clock: Clock,
        *,
        bundle: PolicyBundle | None,
        pushes: bool = True,
        unchecked: bool = False,
        max_input_bytes: int,
        on_adopted: Callable[[ActivePolicy], None] = lambda _policy: None,
    ) -> None:
        self._access, self._bounds = access, bounds
        self._max_input_bytes = max_input_bytes
        self._on_adopted = on_adopted
        self._client = OpaClient(access, connections=bounds.connections, answer_bytes=bounds.answer_bytes)
        self._breaker = Breaker(bounds.failures, bounds.retry_s, bounds.longest_retry_s)
        self._slots = Slots(bounds.connections, bounds.queued)
        self._answers: Counter[str] = Counter()
        self._loaded = BundleSource(clock, unchecked=unchecked)
        self._source: PolicySource = PushedSource(self._client, bounds, clock, bundle) if pushes else self._loaded
        # What OPA was last seen to have; nothing until then, and when it was seen to have nothing.
        self._adopted: ActivePolicy | None = None
        self._trouble = "it was not asked yet"
        self._answered = False
        self._awake = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def active(self) -> ActivePolicy:
        """What is in force: what was pushed, or what OPA was last seen to have."""
        return (self._source.expected if self._source.is_ours else self._adopted) or NO_POLICY

    @property
    def reads_previous(self) -> bool:
        """Yes, for all that is known: OPA may have other rules than those that were brought there."""
        return True

    @property
    def revision(self) -> str:
        """The revision of it."""
        return self.active.revision

    @property
    def profile(self) -> str:
        """The profile of it."""
        return self.active.profile

    @property
    def ready(self) -> bool:
        """Whether OPA answers, and has the policies."""
        return not self._closed and self._breaker.admits and self._adopted is not None

    @property
    def shown(self) -> str:
        """The server's address, for operators."""
        return self._access.shown

    @property
    def trouble(self) -> str:
        """Why it is not ready, for operators; empty when it is."""
        return "" if self.ready else f"OPA at {self._access.shown}: {self._trouble}"

    @property
    def process_ids(self) -> tuple[int, ...]:
        """None: the server is somebody else's."""
        return ()

    @property
    def figures(self) -> OpaFigures:
        """For metrics and status."""
        slots, breaker = self._slots, self._breaker
        return OpaFigures(breaker.state, breaker.opened, slots.taken, slots.waiting, dict(self._answers))

    def delay_s(self) -> float:
        """How long the first of the questions has waited that could not be sent yet."""
        return self._slots.delay_s()

    async def start(self) -> None:
        """Reach OPA and bring it the policies. When it cannot be reached, that is tried on until it can.

        Raises `PolicyUnavailableError` for files of the configuration that cannot be used, and when OPA is there and
        does not take the policies.
        """
        await self._client.start()
        try:
            await self._look()
            if self._adopted is None:
                _log.warning("the policy server is not ready", extra={"problem": self.trouble})
        except BaseException:
            await self._client.close_connection()
            raise
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def evaluate(self, input_json: bytes) -> PolicyAnswer:
        """The decision document's JSON for one input document; the protocol says what is raised.

        All of it takes at most `timeout_s`: waiting for a connection, asking, and asking again. With pushed policies it
        is those active when this is called that decide.
        """
        if len(input_json) > self._max_input_bytes:
            raise DecisionError(
                GatewayErrorCode.POLICY_INPUT_TOO_LARGE,
                f"the call is too large to decide about: {len(input_json)} bytes, at most {self._max_input_bytes}",
            )
        try:
            answer = await self._asked_in_time(input_json)
        except DecisionError as error:
            self._answers[error.code.value] += 1
            raise
        except OpaFaultError as fault:
            self._note(fault)
            raise fault.as_denial() from None
        self._answers["ok"] += 1
        self._has_answered(answer.policy)
        return answer

    async def replace(self, bundle: PolicyBundle) -> None:
        """Bring `bundle` to OPA beside the active one, then swap (LIFE-3). Raises `PolicyUnavailableError`."""
        if self._closed:
            raise PolicyUnavailableError("the policy engine was closed")
        try:
            await self._source.replace(bundle)
        except OpaFaultError as fault:
            raise PolicyUnavailableError(f"OPA at {self._access.shown}: {fault.words}") from None
        if self._source.expected == bundle.policy:
            self._has_answered(bundle.policy)

    def refuse(self, policy: ActivePolicy | None, why: str) -> None:
        """Let nothing that OPA loaded itself decide any more, until it is accepted again; `why` is for operators.

        It is why this policy is refused, or with `None` any. Empty when others have to be looked at first.
        """
        self._loaded.refuse(policy, why)
        if not self._source.is_ours:
            self._note(OpaFaultError(Trouble.NOT_ACCEPTED, why or "it has policies that the gateway has not accepted"))

    def offer(self, policy: ActivePolicy, until: float) -> None:
        """Let `replace` accept a policy that OPA loaded itself, as long as it was not refused, and `until` is ahead."""
        self._loaded.offer(policy, until)

    def hold(self, until: float) -> bool:
        """OPA was seen to have what was offered or accepted: it counts `until` then. No, when it counts no more."""
        return self._loaded.hold(until)

    async def look(self) -> None:
        """Ask OPA now which policies it has. Raises `PolicyUnavailableError` when that cannot be told."""
        await self._look()
        if not self.ready:
            raise PolicyUnavailableError(self.trouble)

    async def close(self) -> None:
        """Close every connection; evaluations in flight end in `DecisionError`."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._source.close()
        await self._client.close_connection()

    async def _asked_in_time(self, input_json: bytes) -> PolicyAnswer:
        asked = False
        try:
            async with asyncio.timeout(self._bounds.timeout_s):
                self._check_open()
                async with self._slots.one():
                    self._check_open()
                    asked = True
                    return await self._source.decided(lambda path: self._one_answer(path, input_json))
        except TimeoutError:
            if not asked:
                raise busy() from None
            raise self._too_late() from None

    async def _one_answer(self, path: str, input_json: bytes) -> PolicyAnswer:
        try:
            return read_answer(await self._client.decide(path, input_json))
        except DecisionError:
            self._breaker.succeeded()
            raise

    def _too_late(self) -> OpaFaultError:
        return OpaFaultError(Trouble.TIMEOUT, f"it did not answer within {self._bounds.timeout_s:g} s")

    def _check_open(self) -> None:
        if self._closed or not self._breaker.admits:
            raise DecisionError(GatewayErrorCode.POLICY_UNAVAILABLE, "the policy server does not answer")

    def _has_answered(self, policy: ActivePolicy, *, probe: bool = False) -> None:
        self._breaker.succeeded(probe=probe)
        self._answered = True
        if policy != self._adopted:
            self._adopted = policy
            self._on_adopted(policy)

    def _note(self, fault: OpaFaultError, *, probe: bool = False) -> None:
        self._answers[fault.trouble.value] += 1
        self._trouble = fault.words
        if fault.trouble in {Trouble.NO_POLICY, Trouble.NOT_ACCEPTED, Trouble.REJECTED}:
            # The server is well; it is policies that are missing.
            self._breaker.succeeded(probe=probe)
            if self._adopted is not None:
                self._adopted = None
                self._awake.set()
            return
        was_closed = self._breaker.admits
        self._breaker.failed(probe=probe)
        if was_closed and not self._breaker.admits:
            _log.warning("the policy server is left alone for a while", extra={"problem": self.trouble})
            self._awake.set()

    async def _keep(self) -> None:
        """Until cancelled: look at a server that nobody asks, try one that failed, bring back what is missing."""
        while True:
            if self._breaker.admits:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._bounds.look_s):
                        await self._awake.wait()
                self._awake.clear()
            if not self._breaker.admits:
                await asyncio.sleep(self._breaker.delay_s)
                self._breaker.begin_probe()
            try:
                await self._look_unless_asked()
            except PolicyUnavailableError as error:
                self._trouble = str(error)
                _log.warning("the policies cannot be brought to OPA", extra={"problem": self.trouble})
            except Exception:  # noqa: BLE001 - who stopped here would never let calls ask again
                _log.exception("looking after the policy server failed")
            if self._breaker.state is BreakerState.HALF_OPEN:
                # What ended the probe was no answer.
                self._breaker.failed(probe=True)

    async def _look_unless_asked(self) -> None:
        """Look, unless calls have been answered since the last time: that says as much."""
        if self._breaker.admits and self._answered and self._adopted is not None:
            self._answered = False
            self._client.token.read()
            await self._source.keep_house()
        else:
            await self._look()

    async def _look(self) -> None:
        """Ask one question: which policies it has; bring them when they are missing and that is ours to do.

        Raises `PolicyUnavailableError` when it does not take them.
        """
        probe = self._breaker.state is BreakerState.HALF_OPEN
        self._client.token.read()
        try:
            async with asyncio.timeout(self._bounds.timeout_s):
                policy = read_policy(await self._client.decide(self._source.policy_path, b"{}"))
                self._source.admit(policy)
        except TimeoutError:
            self._note(self._too_late(), probe=probe)
        except DecisionError as error:
            # It speaks, and the policies there fail on a question about themselves.
            self._note(OpaFaultError(Trouble.NO_POLICY, error.message), probe=probe)
        except OpaFaultError as fault:
            self._note(fault, probe=probe)
            if fault.trouble is Trouble.NO_POLICY:
                await self._bring()
        else:
            self._has_answered(policy, probe=probe)
            await self._source.keep_house()

    async def _bring(self) -> None:
        try:
            brought = await self._source.bring()
        except OpaFaultError as fault:
            self._note(fault)
        else:
            if brought is not None:
                self._has_answered(brought)
