"""The steps from a resolved tool to a decision that can be enforced (PIPE-2): input, facts, decision, what is sent."""

from dataclasses import replace
from functools import partial

from interlock_gateway.core.call import CallKind, CallResult, CallStatus
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode, Obligations
from interlock_gateway.core.document import Document, InvalidDocumentError
from interlock_gateway.pipeline.approval import NO_CHECKPOINT, checkpoint_part
from interlock_gateway.pipeline.bind import call_digest
from interlock_gateway.pipeline.decide import decide
from interlock_gateway.pipeline.deliverable import form_for, problems_of
from interlock_gateway.pipeline.enforce import Path, binding, path_for
from interlock_gateway.pipeline.large_inputs import LARGE_BYTES, LargeInput, LargeInputs
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.policy_input import CallFacts, call_json, policy_input, principal_json
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.preview import STATE_UNAVAILABLE
from interlock_gateway.pipeline.read_input import changed_fields, input_to_send, read_input
from interlock_gateway.pipeline.resolve_tool import deferred_tool_message, unknown_tool_message
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tallying import Tallying, is_destructive
from interlock_gateway.pipeline.tracing_port import Step
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.call_counts import Tally


class Steps:
    """Takes a run to its decision. Each refusal is an answer that says why, with nothing dispatched."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.tallying = Tallying(parts.counts)
        self.large = LargeInputs()
        self._principals: dict[int, tuple[object, str]] = {}

    async def decide(self, run: CallRun) -> CallResult | None:
        """Read, extract, decide. `None` when there is a decision to enforce, else the refusal."""
        try:
            run.document = await self._read(run)
        except InvalidDocumentError as error:
            return self.refuse(run, "invalid_input", error.message)
        if run.tool is None:
            message = unknown_tool_message(self._parts.registry, run.live.session, run.request.tool)
            return self.refuse(run, "unknown_tool", message)
        if self._parts.deferral.hides(run.live.session, run.tool) and await self._is_deferred(run, run.tool):
            return self.refuse(run, "tool_deferred", deferred_tool_message(run.tool.name))
        if run.request.workdir and (problem := self._parts.facts.workdir_problem(run)):
            return self.refuse(run, "outside_workspace", problem)
        if run.request.deliverable is not None and (problems := problems_of(run.request.deliverable)):
            return self._unfit_deliverable(run, problems)
        await self._decide(run)
        return None

    async def ready_to_send(self, run: CallRun) -> CallResult | None:
        """Put together what is sent and check it against the schema; `None` when it may be sent (PIPE-4)."""
        try:
            obligations = binding(run.decided, self._parts.settings.confidence_field)
            run.sent = input_to_send(run.document, obligations)
            await self._check_changes(run, obligations)
            problems = self._problems(run)
            if problems is None:
                problems = await run.known_tool.schema.found_aside(run.sent, run.principal.id)
        except DecisionError as error:
            return self.refuse(run, f"gateway_error.{error.code.value}", error.message)
        if problems:
            lines = "\n".join(problems)
            return self.refuse(run, "invalid_arguments", f"The arguments of {run.tool_name} are not valid:\n{lines}")
        return None

    def refuse(self, run: CallRun, code: str, message: str) -> CallResult:
        """A denial by the gateway itself."""
        engine = self._parts.engine
        return run.refused(code, message, revision=engine.revision, profile=engine.profile)

    def _unfit_deliverable(self, run: CallRun, problems: list[str]) -> CallResult:
        """Ask for a better one: the agent may mend it, so the call's id is not used up by this."""
        lines = "\n".join(f"- {problem}" for problem in problems)
        refused = self.refuse(run, "invalid_deliverable", f"The deliverable cannot be taken:\n{lines}")
        return replace(refused, status=CallStatus.REFLECTION_REQUIRED, reflection=form_for(run))

    def path(self, run: CallRun) -> Path:
        """Where the decision sends the call."""
        return path_for(run.decided)

    async def _check_changes(self, run: CallRun, obligations: Obligations) -> None:
        """Raise `DecisionError` when policy changed what it had decided about: another path, URL, script or query.

        Nobody has asked a rule about what would be sent then, and an overlay could have the gateway do what it denies.
        """
        changed = changed_fields(run.document, obligations) - {self._parts.settings.confidence_field}
        if changed and run.known_tool.permission_class:
            facts = await self._parts.facts.extract(run, run.sent)
            if facts != run.facts:
                names = ", ".join(sorted(changed))
                message = f"policy asked to change what it decided about ({names}), and was not asked about the change"
                raise DecisionError(GatewayErrorCode.OBLIGATION_FAILED, message)

    def _problems(self, run: CallRun) -> tuple[str, ...] | None:
        found = run.sent.problems
        return found if found is not None else run.known_tool.schema.at_once(run.sent)

    async def _read(self, run: CallRun) -> Document:
        raw = run.request.input
        most, deepest = self._parts.settings.max_input_bytes, self._parts.settings.max_depth
        if LARGE_BYTES < len(raw) <= most:
            schema = b"" if run.tool is None else run.tool.schema.for_reader(raw)
            return await self.large.read(LargeInput(raw, most, deepest, schema, run.digest_request), run.principal.id)
        return read_input(raw, max_bytes=most, max_depth=deepest)

    async def _is_deferred(self, run: CallRun, tool: RegisteredTool) -> bool:
        # What was previewed, done or approved goes to its end, though so many tools have come since.
        if run.kind is not CallKind.CALL or run.resuming is not None:
            return False
        await self._parts.sessions.reread(run.live)  # it may have been activated at another replica
        return self._parts.deferral.hides(run.live.session, tool)

    async def _decide(self, run: CallRun) -> None:
        clock = self._parts.clock
        began = clock.monotonic()
        with run.trace.step(Step.DECIDE):
            decided = await decide(self._parts.engine, run.decision_id, partial(self._gathered, run))
        run.decision = decided.bound_to(run.digest, clock.now())
        self._parts.tracer.decided(run)
        self.tallying.decided(run)
        run.decide_s = clock.monotonic() - began
        if self._parts.shadow is not None:
            self._parts.shadow.decided(run)

    async def _gathered(self, run: CallRun) -> bytes:
        """What policy is asked: `run.policy_input`, as far as its rules read it.

        Raises `DecisionError`; whatever else is raised denies the call as well.
        """
        if run.known_tool.permission_class:
            with run.trace.step(Step.FACTS):
                run.facts = await self._parts.facts.extract(run, run.document)
        return self._input(run, await self._tally(run))

    async def _tally(self, run: CallRun) -> Tally:
        try:
            return await self.tallying.tally(run)
        except StateError:
            raise DecisionError(GatewayErrorCode.STATE_UNAVAILABLE, STATE_UNAVAILABLE) from None

    def _input(self, run: CallRun, tally: Tally) -> bytes:
        settings = self._parts.settings
        request = run.request
        run.digest = call_digest(run, run.document, self._parts.engine.revision)
        facts = CallFacts(
            call_id=run.call_id,
            kind=run.kind,
            document=run.document,
            digest=run.digest,
            facts=run.facts,
            workdir=request.workdir,
            intent=request.intent,
            labels=request.labels,
            deliverable=request.deliverable,
            checkpoint=NO_CHECKPOINT if run.resuming is None else checkpoint_part(run),
            confidence_field=settings.confidence_field,
            time=run.received_at,
        )
        session, previous = run.live.policy_json(run.received_at, settings.pending_mode)
        run.policy_input, asked = policy_input(
            principal=self._principal(run),
            recent=self.tallying.seen_and_counted(run, tally).json,
            session=session,
            previous=previous,
            call=call_json(facts),
            arguments=run.document.raw,
            tool=run.known_tool.policy_json,
            gateway=self._gateway(),
            reads_previous=self._parts.engine.reads_previous,
        )
        if not run.dry and is_destructive(run):
            run.reckon()
        return asked

    def _gateway(self) -> str:
        engine = self._parts.engine
        return (
            f'{{"replica":"{self._parts.settings.replica}","mode":"{engine.profile}","revision":"{engine.revision}"}}'
        )

    def _principal(self, run: CallRun) -> str:
        # Principals live as long as their credentials; keyed by identity, because encoding one costs more than this.
        known = self._principals.get(id(run.principal))
        if known is not None and known[0] is run.principal:
            return known[1]
        text = principal_json(run.principal)
        if len(self._principals) > 1000:  # noqa: PLR2004 - more principals than this are encoded again
            self._principals.clear()
        self._principals[id(run.principal)] = (run.principal, text)
        return text
