"""What a policy worker is sent in one turn of the event loop while calls are crowded, and in how many pieces (REL-8).

Each piece wakes the worker. Where it shares a processor with the gateway, both then find cold caches.
"""

import asyncio
import socket
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from interlock_gateway.policy.embedded.process import Evaluation, Process, Worker
from interlock_gateway.policy.embedded.wire import LARGE_BYTES, Reply, frame

LARGE = b"x" * (LARGE_BYTES + 1)


class Pieces(asyncio.Transport):
    """What was written, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        self.pieces.append(bytes(data))

    def writelines(self, list_of_data: "Iterable[bytes | bytearray | memoryview[Any]]") -> None:
        self.pieces.append(b"".join(list_of_data))


def worker_writing(to: Pieces | None) -> Worker:
    """A worker without a process that holds its policies."""
    process = cast("Process", SimpleNamespace(pid=0))
    with socket.socket() as nowhere:
        made = Worker(process, nowhere, asyncio.get_running_loop(), lambda _: None, lambda _: None)
    made._transport, made.is_crowded = to, lambda: True
    made.loaded.set_result((Reply.OK, b""))
    return made


def send(worker: Worker, *documents: bytes) -> None:
    for document in documents:
        worker.send(Evaluation(document, worker.loop.create_future(), worker.loop.time()))


def framed(*documents: bytes) -> bytes:
    return b"".join(frame(document) for document in documents)


@pytest.mark.req("REL-8")
async def test_inputs_of_one_turn_leave_together_behind_the_first_that_the_worker_begins_with() -> None:
    written = Pieces()
    worker = worker_writing(written)
    send(worker, b"one", b"two", b"three", b"four")
    assert written.pieces == [framed(b"one")], "it has something to do at once"
    await asyncio.sleep(0)
    assert written.pieces == [framed(b"one"), framed(b"two", b"three", b"four")]
    send(worker, b"five")
    await asyncio.sleep(0)
    assert written.pieces[2:] == [framed(b"five")]


@pytest.mark.req("REL-8", "PERF-2")
async def test_each_input_leaves_at_once_while_calls_are_not_crowded() -> None:
    written = Pieces()
    worker = worker_writing(written)
    worker.is_crowded = lambda: False
    send(worker, b"one", b"two", b"three")
    assert written.pieces == [framed(b"one"), framed(b"two"), framed(b"three")]


@pytest.mark.req("REL-8", "PERF-2")
async def test_what_is_held_back_leaves_before_what_comes_when_calls_are_not_crowded_any_more() -> None:
    written = Pieces()
    worker = worker_writing(written)
    send(worker, b"one", b"two")
    worker.is_crowded = lambda: False
    send(worker, b"three")
    assert b"".join(written.pieces) == framed(b"one", b"two", b"three")


@pytest.mark.req("REL-7", "REL-8")
async def test_a_large_input_leaves_at_once_behind_those_before_it() -> None:
    written = Pieces()
    worker = worker_writing(written)
    send(worker, b"one", b"two", LARGE, b"four")
    assert b"".join(written.pieces) == framed(b"one", b"two", LARGE)
    await asyncio.sleep(0)
    assert b"".join(written.pieces) == framed(b"one", b"two", LARGE, b"four")


@pytest.mark.req("REL-8")
async def test_replies_that_come_meanwhile_change_nothing_about_the_order() -> None:
    written = Pieces()
    worker = worker_writing(written)
    send(worker, b"one", b"two")
    answers = [evaluation.answer for evaluation in worker.queue]
    worker.data_received(b"\1\0\0\0" + bytes([Reply.UNDEFINED]))
    send(worker, b"three")
    await asyncio.sleep(0)
    assert b"".join(written.pieces) == framed(b"one", b"two", b"three")
    assert [answer.done() for answer in answers] == [True, False]


@pytest.mark.req("REL-8")
async def test_nothing_is_written_to_a_worker_that_has_gone_meanwhile() -> None:
    written = Pieces()
    worker = worker_writing(written)
    send(worker, b"one", b"two")
    worker._transport = None
    await asyncio.sleep(0)
    assert written.pieces == [framed(b"one")]
