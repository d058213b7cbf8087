"""What the pipeline needs of a policy engine, whichever it is (ENG-1)."""

from typing import Protocol

from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.policy.bundle import PolicyBundle


class PolicyUnavailableError(Exception):
    """An engine could not be started, or would not take a bundle; the message says why, for an operator."""


class PolicyEngine(Protocol):
    """Evaluates `data.interlock.decision`, and fails closed."""

    @property
    def active(self) -> ActivePolicy:
        """The policy in force, as far as the engine knows; each answer names the one that it came from."""
        ...

    @property
    def revision(self) -> str:
        """The revision of the policy in force, empty when none is known."""
        ...

    @property
    def profile(self) -> str:
        """The profile of the policy in force."""
        ...

    @property
    def reads_previous(self) -> bool:
        """Whether a rule of it may read `input.session.previous`; true when that is not known.

        If not, an input may be without.
        """
        ...

    @property
    def ready(self) -> bool:
        """Whether a decision can be had now (LIFE-7)."""
        ...

    @property
    def trouble(self) -> str:
        """Why it is not ready, for operators; empty when it is."""
        ...

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes that it runs beside the gateway; none where a server decides."""
        ...

    def delay_s(self) -> float:
        """How long the first of the inputs has waited that nobody evaluates yet; 0 when none waits."""
        ...

    async def start(self) -> None:
        """Load the policies. Raises `PolicyUnavailableError` when they cannot be loaded."""
        ...

    async def evaluate(self, input_json: bytes) -> PolicyAnswer:
        """The decision document's JSON for one input document, and the policy that gave it.

        Raises `DecisionError` with a code of the closed set when there is no single decision in time; never returns
        anything in place of one. The shape of the document is for the caller to check.
        """
        ...

    async def replace(self, bundle: PolicyBundle) -> None:
        """Swap the policies in one step; evaluations in flight keep those they began with (LIFE-3).

        Raises `PolicyUnavailableError`, and keeps the active ones, when `bundle` cannot be loaded.
        """
        ...

    async def close(self) -> None:
        """Release everything; evaluations in flight end in `DecisionError`."""
        ...
