"""The fake gateway: a real gRPC server in this process, that answers what it is told."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal, Self

import grpc

from interlock._connection import DEFAULT_TIMEOUT
from interlock._gateway import Gateway, SyncGateway
from interlock._status import DETAILS_KEY, ErrorDetail, write_details
from interlock.provider._definition import definition
from interlock.provider._encode import json_bytes, result_from
from interlock.provider._provider import RequestFailed, ToolProvider
from interlock.provider._tool import Tool
from interlock.testing._scripts import Allow, Answer, RecordedCall, RpcFailure
from interlock.testing._service import SessionRpcs
from interlock.testing._session import FakeSession, RpcFailed
from interlock.testing._stored import StoredRpcs
from interlock.v1 import error_reason_pb2, provider_pb2, tool_pb2
from interlock.v1 import gateway_service_pb2 as rpc
from interlock.v1 import tool_provider_service_pb2 as provider_rpc

_SERVICE = rpc.DESCRIPTOR.services_by_name["GatewayService"]
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class FakeGateway:
    """A gateway for unit tests: it answers what `on` says, and records the calls.

    The code under test talks to it over real gRPC, at `address`, and is not changed. A tool that nothing is said about
    is denied. Calls of `tools` (made with `interlock.provider.tool`) run those functions.

    >>> with FakeGateway() as fake:
    ...     _ = fake.on("read", Allow("hello"))
    ...     with fake.sync_gateway() as gateway:
    ...         print(gateway.session().call("read", {"path": "README.md"}).text)
    ...     print(fake.calls[0].input)
    hello
    {'path': 'README.md'}
    """

    def __init__(self, tools: Iterable[Tool[..., Any]] = (), *, address: str = "127.0.0.1:0", token: str = "") -> None:
        self.address = address
        self.token = token
        self.calls: list[RecordedCall] = []
        self._lock = threading.Condition(threading.RLock())
        self._scripts: dict[str, list[Answer]] = {}
        self._definitions: dict[str, tool_pb2.ToolDefinition] = {}
        self._sessions: dict[str, FakeSession] = {}
        self._session_rpcs = SessionRpcs(self._session, self._peek, lambda: list(self._definitions.values()))
        self._stored_rpcs = StoredRpcs()
        self._server: grpc.Server | None = None
        for tool in tools:
            self.on(tool.name, Allow(_runner(tool)))
            self._definitions[tool.name] = definition(tool)

    def on(self, tool: str, *answers: Answer) -> Self:
        """Answer calls of a tool with these, one after the other; the last one is repeated."""
        if not answers:
            raise ValueError("say at least one answer")
        with self._lock:
            self._scripts[tool] = list(answers)
            self._definitions.setdefault(tool, tool_pb2.ToolDefinition(name=tool))
        return self

    @property
    def ran(self) -> list[RecordedCall]:
        """The calls that completed: those that would have had an effect."""
        return [call for call in self.calls if call.result.completed]

    @property
    def files(self) -> dict[str, str]:
        """The files that a prompt's references may name, by path."""
        return self._stored_rpcs.files

    def store(self, text: str) -> str:
        """Keep a text as an artifact; its URI."""
        return self._stored_rpcs.store(text.encode())

    def decide(self, call_id: str, decision: Literal["approve", "deny"], reason: str = "") -> None:
        """Decide a call that waits at a `Checkpoint("wait")`. Raises KeyError when no such call waits."""
        with self._lock:
            waiting = [one for one in self._sessions.values() if call_id in one.waiting]
            if not waiting:
                raise KeyError(call_id)
            waiting[0].decide(call_id, decision, reason)

    def gateway(self, *, timeout: float = DEFAULT_TIMEOUT) -> Gateway:
        """A client of this gateway, for an event loop."""
        return Gateway(self.address, token=self.token, timeout=timeout)

    def sync_gateway(self, *, timeout: float = DEFAULT_TIMEOUT) -> SyncGateway:
        """A client of this gateway, for threads."""
        return SyncGateway(self.address, token=self.token, timeout=timeout)

    def start(self) -> str:
        """Listen; the address. Entering it as a context manager does the same, and leaving stops it."""
        server = grpc.server(ThreadPoolExecutor(thread_name_prefix="fake-gateway"), options=(("grpc.so_reuseport", 0),))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE.full_name, self._handlers()),))
        port = server.add_insecure_port(self.address)
        if not self.address.startswith("unix:"):
            self.address = f"{self.address.rpartition(':')[0]}:{port}"
        server.start()
        self._server = server
        return self.address

    def stop(self) -> None:
        """Stop listening, and cancel what still runs."""
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _session(self, session_id: str) -> FakeSession:
        found = self._sessions.get(session_id)
        if found is None:
            found = FakeSession(session_id, self._next, self.calls.append, self._lock)
            self._sessions[session_id] = found
        return found

    def _peek(self, tool: str) -> Answer | None:
        scripts = self._scripts.get(tool)
        return scripts[0] if scripts else None

    def _next(self, tool: str) -> Answer | None:
        scripts = self._scripts.get(tool)
        if not scripts:
            return None
        return scripts.pop(0) if len(scripts) > 1 else scripts[0]

    def _handlers(self) -> dict[str, Any]:
        handlers = {}
        for method in _SERVICE.methods:
            request = getattr(rpc, method.input_type.name)
            name = _WORD.sub("_", method.name).lower()
            work = getattr(self._session_rpcs, name, None) or getattr(self._stored_rpcs, name)
            make = self._stream if method.server_streaming else self._unary
            handlers[method.name] = make(work, request)
        return handlers

    def _unary(self, work: Callable[[Any, float], Any], request: Any) -> Any:
        def handle(asked: Any, context: Any) -> Any:
            self._authenticate(context)
            try:
                with self._lock:
                    return work(asked, _patience(context))
            except (RequestFailed, RpcFailed) as error:
                return _abort(context, error)

        return grpc.unary_unary_rpc_method_handler(handle, request.FromString, _serialize)

    def _stream(self, work: Callable[[Any, float], Iterator[Any]], request: Any) -> Any:
        def handle(asked: Any, context: Any) -> Iterator[Any]:
            self._authenticate(context)
            messages = work(asked, _patience(context))
            while True:
                try:
                    with self._lock:
                        message = next(messages)
                except StopIteration:
                    return
                except (RequestFailed, RpcFailed) as error:
                    _abort(context, error)
                yield message

        return grpc.unary_stream_rpc_method_handler(handle, request.FromString, _serialize)

    def _authenticate(self, context: Any) -> None:
        given = dict(context.invocation_metadata()).get("authorization", "")
        if self.token and given != f"Bearer {self.token}":
            reason = error_reason_pb2.ERROR_REASON_UNAUTHENTICATED
            _abort(context, RequestFailed(grpc.StatusCode.UNAUTHENTICATED, "no valid credentials", reason))


def _runner(tool: Tool[..., Any]) -> Callable[[dict[str, Any]], Any]:
    provider = ToolProvider([tool])

    def run(given: dict[str, Any]) -> Any:
        invocation = provider_pb2.ToolInvocation(tool=tool.name, input=json_bytes(given))
        event = asyncio.run(provider.execute(provider_rpc.ExecuteRequest(invocation=invocation)))
        return result_from(event.result)

    return run


def _patience(context: Any) -> float:
    left = context.time_remaining()
    return DEFAULT_TIMEOUT if left is None else min(float(left), DEFAULT_TIMEOUT)


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _abort(context: Any, error: RequestFailed | RpcFailed) -> Any:
    if isinstance(error, RpcFailed):
        failure = error.failure
    else:
        name = error_reason_pb2.ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_")
        failure = RpcFailure(error.code, name, error.message)
    detail = ErrorDetail(reason=failure.reason, metadata=failure.metadata, retry_after=failure.retry_after)
    raw = write_details(failure.code.value[0], failure.message, detail)
    context.set_trailing_metadata(((DETAILS_KEY, raw),))
    context.abort(failure.code, failure.message)
