"""Channels of the SDK: which way they take, and what becomes of calls on them when others are put in their place."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc
import pytest
from interlock._connection import Connection
from interlock._drivers import FORMER, AsyncDriver, SyncDriver
from interlock._flow import Failure, Method, ask
from interlock.v1 import gateway_service_pb2 as rpc

PATIENCE_S = 20.0
METHOD = Method("/interlock.v1.GatewayService/CallTool", rpc.CallToolResponse, repeatable=True)
LOST = Failure(grpc.StatusCode.UNAVAILABLE, "the connection was refused", b"", 0.1)


class Slow(grpc.GenericRpcHandler):
    """Answers whatever is asked, once it may."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.may_end = threading.Event()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        del handler_call_details
        return grpc.unary_unary_rpc_method_handler(self._answer)

    def _answer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        del request, context
        self.began.set()
        assert self.may_end.wait(PATIENCE_S)
        return b""


@pytest.fixture
def slow() -> Iterator[tuple[str, Slow]]:
    handler = Slow()
    server = grpc.server(ThreadPoolExecutor(2), options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}", handler
    handler.may_end.set()
    server.stop(None).wait(PATIENCE_S)


@pytest.mark.req("SDK-1")
def test_a_call_under_way_goes_on_when_certificates_are_others_by_now(slow: tuple[str, Slow]) -> None:
    address, handler = slow
    driver = SyncDriver(Connection(address))
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(driver.run, ask(METHOD, rpc.CallToolRequest(), PATIENCE_S))
        assert handler.began.wait(PATIENCE_S)
        for _ in range(FORMER):
            assert driver._opened is not None
            driver._opened.files = ((1, 2, 3),)
            driver.failed(LOST)
        handler.may_end.set()
        assert asked.result(PATIENCE_S) == rpc.CallToolResponse()
    assert len(driver._former) == FORMER
    driver.close()
    assert not driver._former


@pytest.mark.req("SDK-1")
async def test_a_task_s_call_goes_on_when_certificates_are_others_by_now(slow: tuple[str, Slow]) -> None:
    address, handler = slow
    driver = AsyncDriver(Connection(address))
    asked = asyncio.create_task(driver.run(ask(METHOD, rpc.CallToolRequest(), PATIENCE_S)))
    assert await asyncio.to_thread(handler.began.wait, PATIENCE_S)
    for _ in range(FORMER):
        assert driver._opened is not None
        driver._opened.files = ((1, 2, 3),)
        driver.failed(LOST)
    handler.may_end.set()
    assert await asyncio.wait_for(asked, PATIENCE_S) == rpc.CallToolResponse()
    await driver.close()
    assert not driver._former


@pytest.mark.req("SDK-1")
def test_loopback_is_reached_without_the_proxy_that_the_environment_names(
    slow: tuple[str, Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, handler = slow
    handler.may_end.set()
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0)
        for name in ("no_proxy", "no_grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http_proxy", "grpc_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        driver = SyncDriver(Connection(address, token="s3cret"))
        driver.run(ask(METHOD, rpc.CallToolRequest(), PATIENCE_S))
        driver.close()
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert ("grpc.enable_http_proxy", 0) not in Connection("gateway:7080").options


@pytest.mark.req("SDK-1")
def test_a_connection_may_take_its_time(slow: tuple[str, Slow]) -> None:
    """The way there takes three tenths of a second for the first bytes, as a handshake over a long way does."""
    address, handler = slow
    handler.may_end.set()
    host, _, port = address.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as far, ThreadPoolExecutor(3) as threads:

        def carry() -> None:
            ours, _ = far.accept()
            with ours, socket.create_connection((host, int(port))) as theirs:
                first = ours.recv(65536)
                threading.Event().wait(0.3)
                theirs.sendall(first)
                back = threads.submit(_pass_on, theirs, ours)
                _pass_on(ours, theirs)
                back.result()

        carried = threads.submit(carry)
        driver = SyncDriver(Connection(f"127.0.0.1:{far.getsockname()[1]}"))
        assert driver.run(ask(METHOD, rpc.CallToolRequest(), PATIENCE_S)) == rpc.CallToolResponse()
        driver.close()
        carried.result(PATIENCE_S)


def _pass_on(given: socket.socket, taking: socket.socket) -> None:
    with suppress(OSError):
        while some := given.recv(65536):
            taking.sendall(some)
        taking.shutdown(socket.SHUT_WR)
