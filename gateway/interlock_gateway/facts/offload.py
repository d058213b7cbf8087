"""Runs extractors off the event loop, within a time: a slow file system stalls its own call and nothing else."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.facts.places import workdir_inside
from interlock_gateway.facts.registry import extract
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.pipeline.run import CallRun


class OffloadedFacts:
    """The pipeline's `FactsExtractor`: `threads` at once, each within `timeout_s` seconds.

    `roots` are the operator's: no session's root reaches out of them.
    """

    def __init__(self, roots: tuple[str, ...], *, threads: int = 4, timeout_s: float = 2.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="facts")
        self._timeout_s = timeout_s
        self._roots = roots

    def workdir_problem(self, run: CallRun) -> str | None:
        """Why the call's working directory is refused (TOOL-9), or None."""
        return workdir_inside(run.request.workdir, run.live.session.roots, self._roots)

    async def extract(self, run: CallRun) -> JsonObject:
        """The facts about the call's input. Raises `DecisionError` (`facts_failed`) when they take too long."""
        tool = run.known_tool
        request = FactRequest(
            permission_class=tool.permission_class,
            tool=tool.name,
            input=run.document.value,
            input_schema=tool.definition.input_schema,
            argument_names=tool.fact_arguments,
            workdir=run.request.workdir,
            roots=run.live.session.roots,
            within=self._roots,
        )
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await loop.run_in_executor(self._executor, extract, request)
        except TimeoutError:
            message = "the facts about this call could not be gathered in time"
            raise DecisionError(GatewayErrorCode.FACTS_FAILED, message) from None

    def close(self) -> None:
        """Let go of the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)
