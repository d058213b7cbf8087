"""Asks an OPA server over its REST API: `opa-python-client`, on connections and within bounds of our own.

What the library would do otherwise: make a TLS context for each session, without a way to name an authority; try again
three times, waiting in between; follow redirects, with the token; read answers of any size.
"""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from opa_client import AsyncOpaClient
from opa_client.errors import DeleteDataError, DeletePolicyError, PolicyNotFoundError, RegoParseError

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.opa.credentials import BearerToken, tls_context
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.settings import OpaAccess

IDLE_S = 60.0
# From here on aiohttp warns about bytes in one piece; a file of them it sends in pieces.
_LARGE = 1 << 20
# A function that cannot work with what it is given fails the evaluation, as it does in the embedded engine. By default
# its result would be undefined, and `not` of that is true.
_STRICTLY = "strict-builtin-errors=true"
_MISSING = 404
_IN_USE = "invalid_operation"
_REDIRECTS = range(300, 400)
_NOT_ALLOWED = frozenset({401, 403, 407})
_FAILING = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer, with what the library asks of one."""

    status: int
    content_type: str
    body: bytes

    async def json(self) -> JsonObject:
        """The JSON object that it is. Raises `OpaFaultError`."""
        return self.document()

    def document(self) -> JsonObject:
        """The JSON object that it is. Raises `OpaFaultError`."""
        if self.content_type != "application/json":
            raise OpaFaultError(Trouble.MALFORMED, f"it answered with {self.content_type or 'no content type'}")
        try:
            value = json.loads(self.body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise OpaFaultError(Trouble.MALFORMED, "its answer is not JSON") from None
        if not isinstance(value, dict):
            raise OpaFaultError(Trouble.MALFORMED, "its answer is not a JSON object")
        return value

    def raise_for_status(self) -> None:
        """Raise `OpaFaultError` unless it is a success."""
        check_status(self)


class OpaClient(AsyncOpaClient):  # type: ignore[misc] # the library has no types
    """The library's client with one session, one TLS context, no retries of its own, and bounded answers."""

    def __init__(self, access: OpaAccess, *, connections: int, answer_bytes: int) -> None:
        host = f"[{access.host}]" if ":" in access.host else access.host
        super().__init__(host=host, port=access.port, ssl=access.tls, retries=0)
        self._access = access
        self._connections = connections
        self._answer_bytes = answer_bytes
        self.token = BearerToken(access.token, access.token_file)

    async def start(self) -> None:
        """Prepare the session; nothing is sent. Raises `PolicyUnavailableError` for files that cannot be used."""
        self.token.read()
        await self._init_session()

    async def decide(self, path: str, input_json: bytes) -> Reply:
        """What the document at `path` is with this input, whatever the status. Raises `OpaFaultError`."""
        body = b'{"input":%b}' % input_json
        headers = {"Content-Type": "application/json"}
        data = body if len(body) <= _LARGE else io.BytesIO(body)
        url = f"{self.root_url}/data/{path}?{_STRICTLY}"
        async with self._request("POST", url, data=data, headers=headers) as reply:
            found: Reply = reply
            return found

    async def name_policy(self, path: str) -> Reply:
        """What `decide` would answer about nothing, with the revisions of bundles. Raises `OpaFaultError`."""
        url = f"{self.root_url}/data/{path}?provenance=true&{_STRICTLY}"
        headers = {"Content-Type": "application/json"}
        async with self._request("POST", url, data=b'{"input":{}}', headers=headers) as reply:
            found: Reply = reply
            return found

    async def ask_for(self, path: str) -> Reply:
        """What it answers to a GET below `/v1`, whatever the status. Raises `OpaFaultError`."""
        async with self._request("GET", f"{self.root_url}/{path}") as reply:
            found: Reply = reply
            return found

    async def put_policy(self, name: str, source: str) -> str:
        """Give it a module: empty, or why it does not take it. Raises `OpaFaultError` when that cannot be told."""
        try:
            # Without `rego_compat`: a module that OPA refuses is not rewritten until it takes it.
            await self.update_policy_from_string(source, name, rego_compat=False)
        except RegoParseError as error:
            return _words_of(error)
        return ""

    async def put_data(self, path: str, value: JsonObject) -> None:
        """Put a document in place of what is at `path`. Raises `OpaFaultError`."""
        try:
            await self.update_or_create_data(value, path)
        except RegoParseError as error:
            raise OpaFaultError(Trouble.REJECTED, f"it does not take the data: {_words_of(error)}") from None

    async def read_data(self, path: str) -> JsonObject:
        """The JSON object at `path`, empty when there is none. Raises `OpaFaultError`."""
        async with self._request("GET", f"{self.root_url}/data/{path}") as reply:
            check_status(reply)
            value = reply.document().get("result", {})
        if not isinstance(value, dict):
            raise OpaFaultError(Trouble.MALFORMED, f"its data at {path} is not an object")
        return value

    async def read_policy(self, name: str) -> str:
        """A module's source, empty when there is none. Raises `OpaFaultError`."""
        try:
            found = (await self.get_policy(name)).get("result")
        except PolicyNotFoundError as error:
            _unless_missing(error.expression, error.message)
            return ""
        source = found.get("raw") if isinstance(found, dict) else None
        return source if isinstance(source, str) else ""

    async def remove_policy(self, name: str) -> bool:
        """Delete a module; false when others call its functions. What is not there is as good as deleted.

        Raises `OpaFaultError`.
        """
        try:
            await self.delete_policy(name)
        except DeletePolicyError as error:
            if error.expression == _IN_USE:
                return False
            _unless_missing(error.expression, error.message)
        return True

    async def remove_data(self, path: str) -> None:
        """Delete a document; what is not there is as good as deleted. Raises `OpaFaultError`."""
        try:
            await self.delete_data(path)
        except DeleteDataError as error:
            _unless_missing(error.expression, error.message)

    async def _init_session(self) -> None:
        connector: aiohttp.BaseConnector
        if self._access.socket:
            connector = aiohttp.UnixConnector(
                self._access.socket, limit=self._connections, keepalive_timeout=IDLE_S, force_close=False
            )
        else:
            context = tls_context(self._access) if self._access.tls else False
            connector = aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_S, ssl=context)
        self._session = aiohttp.ClientSession(
            connector=connector,
            # Who asks has its own bound, over all of what it does.
            timeout=aiohttp.ClientTimeout(total=None),
            # Proxies and passwords of the environment are not for this.
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small answer may unpack to a huge one.
            auto_decompress=False,
            headers={"Accept-Encoding": "identity"},
        )

    @asynccontextmanager
    async def _request(self, method: str, url: str, **arguments: Any) -> AsyncIterator[Reply]:
        """The whole answer; the library's own methods ask through this. Raises `OpaFaultError`."""
        headers = {**(arguments.pop("headers", None) or {}), **self.token.headers}
        try:
            reply = await self._asked(method, url, headers, arguments)
        except aiohttp.ClientConnectorError as error:
            raise _no_answer(error) from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The server may close an idle connection at the moment when it is used. All we ask can be asked twice.
            reply = await self._asked_again(method, url, headers, arguments)
        except (aiohttp.ClientError, OSError) as error:
            raise _no_answer(error) from None
        yield reply

    async def _asked_again(self, method: str, url: str, headers: dict[str, str], arguments: dict[str, Any]) -> Reply:
        try:
            return await self._asked(method, url, headers, arguments)
        except (aiohttp.ClientError, OSError) as error:
            raise _no_answer(error) from None

    async def _asked(self, method: str, url: str, headers: dict[str, str], arguments: dict[str, Any]) -> Reply:
        assert self._session is not None, "start() comes first"
        async with self._session.request(method, url, headers=headers, allow_redirects=False, **arguments) as response:
            try:
                body = await self._bounded(response)
            except BaseException:
                # What is left of the answer is not read; the server sees that nobody waits, and stops.
                response.close()
                raise
            reply = Reply(response.status, response.content_type if response.headers.get("Content-Type") else "", body)
        if reply.status in _REDIRECTS:
            raise OpaFaultError(Trouble.REDIRECTED, f"it answered {reply.status}: redirects are not followed")
        if reply.status in _NOT_ALLOWED:
            raise OpaFaultError(Trouble.NOT_ALLOWED, f"it answered {reply.status}: the gateway may not ask it")
        if reply.status in _FAILING:
            raise OpaFaultError(Trouble.FAILING, f"it answered {reply.status}")
        return reply

    async def _bounded(self, response: aiohttp.ClientResponse) -> bytes:
        most = self._answer_bytes
        said = response.content_length
        parts, size = [], 0
        if said is None or said <= most:
            async for part in response.content.iter_any():
                size += len(part)
                if size > most:
                    break
                parts.append(part)
            else:
                return b"".join(parts)
        raise OpaFaultError(Trouble.TOO_LARGE, f"its answer is larger than {most} bytes")


def check_status(reply: Reply) -> None:
    """Raise `OpaFaultError` for an answer that is no success."""
    if reply.status == _MISSING or not 200 <= reply.status < 300:  # noqa: PLR2004 - the statuses of success
        raise OpaFaultError(Trouble.UNEXPECTED, f"it answered {reply.status}")


def _no_answer(error: Exception) -> OpaFaultError:
    if isinstance(error, aiohttp.ClientPayloadError):
        return OpaFaultError(Trouble.CUT_OFF, "its answer was cut off")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return OpaFaultError(Trouble.UNREACHABLE, f"no encrypted connection to it can be made: {error}")
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
        return OpaFaultError(Trouble.MALFORMED, "its answer is not HTTP")
    if isinstance(error, asyncio.TimeoutError):
        return OpaFaultError(Trouble.TIMEOUT, "it did not answer in time")
    return OpaFaultError(Trouble.UNREACHABLE, f"there is no connection to it: {error or type(error).__name__}")


def _unless_missing(code: object, message: object) -> None:
    if code != "resource_not_found":
        raise OpaFaultError(Trouble.REJECTED, f"it does not delete: {message}")


def _words_of(error: RegoParseError) -> str:
    found = [one for one in error.errors if isinstance(one, dict)]
    said = [_problem(one) for one in found[:3]] or [str(error.message)]
    return "; ".join(said)[:1000]


def _problem(error: JsonObject) -> str:
    """One of OPA's problems with a module, with the place that it names: a module's id and a line."""
    place = error.get("location")
    words = str(error.get("message", ""))
    return f"{place.get('file')}:{place.get('row')}:{place.get('col')}: {words}" if isinstance(place, dict) else words


def _refuse_constant(_name: str) -> None:
    raise ValueError("not JSON")
