"""The HTTP side of the injection webhook: one review a request (K8S-1)."""

import asyncio
import json
import logging
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from interlock_gateway.injection.deciding import FAILED, Outcome, decide, unclear
from interlock_gateway.injection.review import BadReviewError, Verdict, answer, read_review
from interlock_gateway.injection.review import Request as Review
from interlock_gateway.injection.template import Template

MOST_BYTES = 4 * 1024 * 1024
"""More than any object that the API server takes."""
PATIENCE_S = 5.0
"""How long a review may take to arrive; the API server itself waits for 10 s in all, if it is told nothing else."""
_log = logging.getLogger(__name__)


class Admission:
    """Answers reviews with what `template` makes of their pods. `count` is told each outcome."""

    def __init__(self, template: Template, count: Callable[[Outcome], None]) -> None:
        self.ready = True
        self._template = template
        self._count = count

    def app(self) -> Starlette:
        """The application: reviews, and whether it is there for them."""
        return Starlette(
            routes=[
                Route("/inject", self._inject, methods=["POST"]),
                Route("/inject/unclear", self._refuse_unclear, methods=["POST"]),
                Route("/livez", _lives, methods=["GET"]),
                Route("/readyz", self._is_ready, methods=["GET"]),
            ]
        )

    async def _inject(self, request: Request) -> Response:
        return await self._reviewed(request, lambda review: decide(review, self._template))

    async def _refuse_unclear(self, request: Request) -> Response:
        return await self._reviewed(request, unclear)

    async def _reviewed(self, request: Request, decided: Callable[[Review], tuple[Outcome, Verdict]]) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return self._unread("the content type is not application/json", 415)
        try:
            body = await _body(request)
        except TimeoutError:
            return self._unread("the review did not arrive in time", 408)
        except ClientDisconnect:
            return self._unread("the client has gone", 400)
        if body is None:
            return self._unread(f"a review has at most {MOST_BYTES} bytes", 413)
        try:
            review = read_review(body)
        except BadReviewError as error:
            return self._unread(str(error), 400)
        verdict = self._decided(review, decided)
        return Response(json.dumps(answer(review.uid, verdict)), media_type="application/json")

    def _decided(self, review: Review, decided: Callable[[Review], tuple[Outcome, Verdict]]) -> Verdict:
        try:
            outcome, verdict = decided(review)
        except Exception:  # noqa: BLE001 - the last door: what asked for the sidecar is refused, whatever went wrong here
            _log.exception("a review could not be decided", extra=_about(review))
            outcome, verdict = Outcome.FAILED, FAILED
        else:
            level = logging.WARNING if outcome is Outcome.REFUSED else logging.INFO
            _log.log(level, _MESSAGES[outcome], extra={**_about(review), "reason": verdict.refusal})
        self._count(outcome)
        return verdict

    def _unread(self, why: str, status: int) -> Response:
        """Nothing that has an id to answer to: the API server goes by the webhook's failurePolicy."""
        _log.warning("a review could not be read", extra={"reason": why, "status": status})
        self._count(Outcome.FAILED)
        return PlainTextResponse(why, status)

    async def _is_ready(self, request: Request) -> Response:
        del request
        return PlainTextResponse("ok") if self.ready else PlainTextResponse("ending", 503)


_MESSAGES = {
    Outcome.INJECTED: "a pod gets the sidecar",
    Outcome.ALREADY: "a pod has the sidecar already",
    Outcome.LEFT_ALONE: "a pod wants no sidecar",
    Outcome.NOT_ASKED: "a review is of something else than a new pod",
    Outcome.REFUSED: "a pod is refused",
}


async def _lives(request: Request) -> Response:
    del request
    return PlainTextResponse("ok")


async def _body(request: Request) -> bytes | None:
    """The request's body, `None` for one that is too large. Raises `TimeoutError` and `ClientDisconnect`."""
    pieces: list[bytes] = []
    size = 0
    async with asyncio.timeout(PATIENCE_S):
        async for piece in request.stream():
            size += len(piece)
            if size > MOST_BYTES:
                return None
            pieces.append(piece)
    return b"".join(pieces)


def _about(review: Review) -> dict[str, object]:
    """Which pod it is, for the log: a controller's pods have no name yet, only the beginning of one."""
    metadata = (review.object or {}).get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    name = review.name or str(named.get("name") or named.get("generateName") or "")
    return {"uid": review.uid, "namespace": review.namespace, "pod": name, "dry_run": bool(review.dry_run)}
