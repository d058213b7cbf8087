"""The HTTP side of webhooks: signed answers, Slack's buttons, and links (CHK-8).

A signature is looked at before what it covers is parsed. A link's GET decides nothing, because mail scanners follow
links; its POST does.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.records import ApprovalStore
from interlock_gateway.approvals.webhooks import signing, slack
from interlock_gateway.approvals.webhooks.answers import read_answer
from interlock_gateway.approvals.webhooks.links import AnswerLinks
from interlock_gateway.approvals.webhooks.targets import Webhook
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.http import pages
from interlock_gateway.transport.http.bodies import body_of

MOST_BYTES = 1024 * 1024
MOST_FORM_BYTES = 16 * 1024
PATIENCE_S = 10.0
"""How long a request's body may take to arrive."""
_STATUS = {
    RequestFault.INVALID_FIELD: 400,
    RequestFault.UNAUTHENTICATED: 401,
    RequestFault.ROLE_MISSING: 403,
    RequestFault.OWN_CALL: 403,
    RequestFault.APPROVER_GROUP_MISSING: 403,
    RequestFault.CHECKPOINT_NOT_FOUND: 404,
    RequestFault.DEADLINE: 408,
    RequestFault.CHECKPOINT_NOT_OPEN: 409,
    RequestFault.STALE_CONFIRMATION: 409,
    RequestFault.TOO_LARGE: 413,
    RequestFault.OVERLOADED: 503,
    RequestFault.STATE_UNAVAILABLE: 503,
}
_Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """What the HTTP side needs."""

    desk: ApprovalDesk
    store: ApprovalStore
    links: AnswerLinks
    webhooks: tuple[Webhook, ...]
    clock: Clock


def answers_app(parts: AnswerParts) -> Starlette:
    """The application: nothing but answers."""
    doors = _Doors(parts)
    return Starlette(
        routes=[
            Route("/approvals/answers/{webhook}", _guarded(doors.signed, _in_json), methods=["POST"]),
            Route("/approvals/slack/{webhook}", _guarded(doors.slack, _in_json), methods=["POST"]),
            Route("/approvals/links/{token}", _guarded(doors.look, _in_html), methods=["GET"]),
            Route("/approvals/links/{token}", _guarded(doors.confirm, _in_html), methods=["POST"]),
        ]
    )


class _Doors:
    """The ways in."""

    def __init__(self, parts: AnswerParts) -> None:
        self._parts = parts
        self._webhooks = {webhook.name: webhook for webhook in parts.webhooks}

    async def signed(self, request: Request) -> Response:
        """A signed answer from a generic webhook's side."""
        webhook = self._webhook(request, is_slack=False)
        body = await _body(request, MOST_BYTES)
        with _signed():
            message_id = signing.verify(webhook.key, request.headers, body, self._parts.clock.now())
        key = await self._only_once(webhook, message_id)
        approver, said = read_answer(body)
        return await self._decided(webhook.approver(approver), said, key)

    async def slack(self, request: Request) -> Response:
        """A button that somebody pressed in Slack."""
        webhook = self._webhook(request, is_slack=True)
        body = await _body(request, MOST_BYTES)
        with _signed():
            signature = signing.verify_slack(webhook.secret, request.headers, body, self._parts.clock.now())
        key = await self._only_once(webhook, signature)
        user, said = slack.pressed(body)
        return await self._decided(webhook.slack_approver(user), said, key)

    async def look(self, request: Request) -> Response:
        """What a link is for."""
        return _page(pages.confirmation(await self._parts.links.follow(request.path_params["token"])))

    async def confirm(self, request: Request) -> Response:
        """A link's answer."""
        body = await _body(request, MOST_FORM_BYTES)
        try:
            fields = parse_qs(body.decode(), max_num_fields=4)
        except ValueError:
            raise RequestError(RequestFault.INVALID_FIELD, "the form cannot be read") from None
        after = await self._parts.links.answer(request.path_params["token"], fields.get("reason", [""])[0])
        return _page(pages.answered(after))

    def _webhook(self, request: Request, *, is_slack: bool) -> Webhook:
        webhook = self._webhooks.get(request.path_params["webhook"])
        if webhook is None or webhook.is_slack != is_slack:
            raise RequestError(RequestFault.CHECKPOINT_NOT_FOUND, "there is no such webhook")
        return webhook

    async def _only_once(self, webhook: Webhook, identity: str) -> str:
        """The key of a message that comes in first. Raises `RequestError` for others, at whichever replica."""
        key = sha256(f"{webhook.name}\0{identity}".encode()).hexdigest()
        expires_at = self._parts.clock.now() + 2 * signing.TOLERANCE_S
        if not await self._parts.store.first_use(key, expires_at):
            raise RequestError(RequestFault.CHECKPOINT_NOT_OPEN, "this message came in before")
        return key

    async def _decided(self, approver: Principal | None, said: Said, key: str) -> Response:
        if approver is None:
            raise RequestError(RequestFault.ROLE_MISSING, "nobody configured for this webhook says so")
        try:
            after = await self._parts.desk.decide(approver, said)
        except StateError:
            # Whoever sent it is told to send it again, and it is the same message then.
            await self._parts.store.give_back_use(key)
            raise
        return JSONResponse({"checkpoint_id": after.checkpoint_id, "state": after.state.value})


@contextmanager
def _signed() -> Iterator[None]:
    try:
        yield
    except signing.BadSignatureError as error:
        raise RequestError(RequestFault.UNAUTHENTICATED, str(error)) from None


async def _body(request: Request, limit: int) -> bytes:
    """The request's body. Raises `RequestError` when it is larger than `limit` bytes, or takes too long."""
    try:
        return await body_of(request, limit, PATIENCE_S)
    except ClientDisconnect:
        raise RequestError(RequestFault.CANCELLED, "the client has gone") from None


def _guarded(handler: _Handler, refusal: Callable[[RequestError, int], Response]) -> _Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
            said = as_request_error(error)
            return refusal(said, _STATUS.get(said.fault, 500))

    return guarded


def _in_json(said: RequestError, status: int) -> Response:
    return JSONResponse({"error": said.message, "field": said.field}, status)


def _in_html(said: RequestError, status: int) -> Response:
    return _page(pages.refusal(said.message), status)


def _page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, headers=pages.HEADERS)
