"""Runs extractors off the event loop, within a time: a slow file system stalls its own call and nothing else."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.facts.places import workdir_inside
from interlock_gateway.facts.registry import extract
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.pipeline.run import CallRun

SLICES = 4
"""In how many parts the time is waited: a part counts as no longer than it was meant to be."""


class OffloadedFacts:
    """The pipeline's `FactsExtractor`: `threads` at once, each within `timeout_s` seconds.

    A call's time begins when a thread takes it up, or is done with another: one that waits behind many does not run
    out of time as long as the threads get on. Nor does one when this process stands still, which threads do with it.

    `roots` are the operator's: no session's root reaches out of them.
    """

    def __init__(self, roots: tuple[str, ...], *, threads: int = 4, timeout_s: float = 2.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="facts")
        self._timeout_s = timeout_s
        self._roots = roots
        self._got_on = 0  # how many times a thread was done with a call; only whether it changes is looked at

    def workdir_problem(self, run: CallRun) -> str | None:
        """Why the call's working directory is refused (TOOL-9), or None."""
        return workdir_inside(run.request.workdir, run.live.session.roots, self._roots)

    async def extract(self, run: CallRun, document: Document) -> JsonObject:
        """The facts about the call, were `document` its input. Raises `DecisionError` (`facts_failed`) when late."""
        tool = run.known_tool
        request = FactRequest(
            permission_class=tool.permission_class,
            tool=tool.name,
            input=document.value,
            input_schema=tool.definition.input_schema,
            argument_names=tool.fact_arguments,
            workdir=run.request.workdir,
            roots=run.live.session.roots,
            within=self._roots,
        )
        extraction = _Extraction(request)
        future = asyncio.get_running_loop().run_in_executor(self._executor, self._take_up, extraction)
        try:
            return await self._in_time(extraction, future)
        except TimeoutError:
            message = "the facts about this call could not be gathered in time"
            raise DecisionError(GatewayErrorCode.FACTS_FAILED, message) from None
        finally:
            future.cancel()

    async def _in_time(self, extraction: "_Extraction", future: "asyncio.Future[JsonObject]") -> JsonObject:
        """What `future` gives. Raises `TimeoutError`."""
        slice_s = self._timeout_s / SLICES
        left, state = SLICES, (False, self._got_on)
        while left:
            if (await asyncio.wait((future,), timeout=slice_s))[0]:
                return future.result()
            was, state = state, (extraction.begun, 0 if extraction.begun else self._got_on)
            left = left - 1 if state == was else SLICES
        raise TimeoutError

    def _take_up(self, extraction: "_Extraction") -> JsonObject:
        extraction.begun = True
        try:
            return extract(extraction.request)
        finally:
            self._got_on += 1

    def close(self) -> None:
        """Let go of the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class _Extraction:
    """One call's facts; `begun` once a thread has taken them up."""

    __slots__ = ("begun", "request")

    def __init__(self, request: FactRequest) -> None:
        self.request = request
        self.begun = False
