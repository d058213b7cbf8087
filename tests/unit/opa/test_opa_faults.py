"""What a policy server does wrong: each call is denied in time with a code of the closed set (ENG-3, REL-1)."""

import asyncio
from pathlib import Path

import pytest
from asked_opa import STRICT, asking, failure, said, unix
from broken_opa import (
    GOOD,
    POLICY,
    Client,
    Serve,
    always,
    answered,
    broken_opa,
    drop_by_drop,
    forever,
    good,
    never,
    then_ends,
)
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.opa.faults import CODES, Trouble
from interlock_gateway.policy.opa.settings import OpaBounds
from waiting import a_moment, eventually

BOUNDS = OpaBounds(timeout_s=0.25, answer_bytes=64 * 1024, failures=1000, look_s=1000.0)
UNAVAILABLE = GatewayErrorCode.POLICY_UNAVAILABLE
MALFORMED = GatewayErrorCode.POLICY_MALFORMED
TIMEOUT = GatewayErrorCode.POLICY_TIMEOUT
DECISION = {"verdict": "allow"}

FAULTS: dict[str, tuple[Serve, GatewayErrorCode]] = {
    "hangs": (never, TIMEOUT),
    "hangs within an answer": (drop_by_drop, TIMEOUT),
    "sends without end": (forever, MALFORMED),
    "closes": (then_ends(), UNAVAILABLE),
    "closes within the head": (then_ends(b"HTTP/1.1 200 OK\r\nConte"), UNAVAILABLE),
    "closes within the answer": (then_ends(answered(GOOD)[:-5]), UNAVAILABLE),
    "closes within a chunk": (
        then_ends(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"),
        UNAVAILABLE,
    ),
    "speaks something else": (always(b"220 mail.example.com ESMTP\r\n\r\n"), MALFORMED),
    "speaks HTTP/2": (always(b"\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64"), MALFORMED),
    "has a head without end": (always(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000), MALFORMED),
    "refuses": (always(answered({}, "401 Unauthorized")), UNAVAILABLE),
    "forbids": (always(answered({}, "403 Forbidden")), UNAVAILABLE),
    "redirects": (always(answered({}, "307 Temporary Redirect", "Location: /v1/data")), UNAVAILABLE),
    "redirects elsewhere": (always(answered({}, "302 Found", "Location: http://127.0.0.1:1/")), UNAVAILABLE),
    "does not know the path": (always(answered({}, "404 Not Found")), UNAVAILABLE),
    "is told too much": (always(answered({}, "413 Content Too Large")), UNAVAILABLE),
    "is asked too often": (always(answered({}, "429 Too Many Requests")), UNAVAILABLE),
    "answers for a proxy": (always(answered(b"<html>", "400 Bad Request", kind="text/html")), UNAVAILABLE),
    "is broken": (always(answered(b"oops", "500 Internal Server Error", kind="text/plain")), UNAVAILABLE),
    "is broken, in JSON": (always(answered({"code": "internal_error"}, "500 Internal Server Error")), UNAVAILABLE),
    "has a bad gateway": (always(answered(b"", "502 Bad Gateway")), UNAVAILABLE),
    "is not there now": (always(answered(b"", "503 Service Unavailable")), UNAVAILABLE),
    "waited too long": (always(answered(b"", "504 Gateway Timeout")), UNAVAILABLE),
    "has no content": (always(b"HTTP/1.1 204 No Content\r\n\r\n"), MALFORMED),
    "says nothing": (always(answered(b"")), MALFORMED),
    "says no JSON": (always(answered(b"allow")), MALFORMED),
    "says NaN": (always(answered(b'{"result": {"decision": NaN}}')), MALFORMED),
    "says half of it": (always(answered(b'{"result": {"decision": {"verdict": "allow"}')), MALFORMED),
    "nests without end": (always(answered(b'{"result":' * 6000)), MALFORMED),
    "says a list": (always(answered([DECISION])), MALFORMED),
    "says it as a page": (always(answered(GOOD, kind="text/html")), MALFORMED),
    "does not say what it says": (
        always(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"result": {}}'[:-1]),
        MALFORMED,
    ),
    "says it compressed": (always(answered(b"\x1f\x8b\x08\0", "200 OK", "Content-Encoding: gzip")), MALFORMED),
    "says too much": (always(answered(b" " * 65_537)), MALFORMED),
    "has no result": (always(answered({})), UNAVAILABLE),
    "has a result that is none": (always(answered({"result": True})), MALFORMED),
    "does not say who decided": (always(answered({"result": {"decision": DECISION}})), UNAVAILABLE),
    "says badly who decided": (always(answered({"result": {"decision": DECISION, "policy": "r1"}})), MALFORMED),
    "has a policy without a name": (
        always(answered({"result": {"decision": DECISION, "policy": {**POLICY, "revision": ""}}})),
        MALFORMED,
    ),
    "is not sure whether it binds": (
        always(answered({"result": {"decision": DECISION, "policy": {**POLICY, "enforced": "false"}}})),
        MALFORMED,
    ),
    "has no decision": (always(answered({"result": {"policy": POLICY}})), GatewayErrorCode.POLICY_UNDEFINED),
    "has several decisions": (
        always(answered({"errors": [{"code": "eval_conflict_error"}]}, "500 Internal Server Error")),
        GatewayErrorCode.POLICY_CONFLICT,
    ),
    "cannot evaluate": (
        always(answered({"errors": [{"code": "eval_type_error"}]}, "500 Internal Server Error")),
        GatewayErrorCode.POLICY_ERROR,
    ),
}


@pytest.mark.req("ENG-3", "REL-1", "PIPE-6")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_server_denies_in_time_and_the_next_call_is_fine(
    socket_directory: Path, fault: str
) -> None:
    serve, code = FAULTS[fault]
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=BOUNDS, pushes=False) as engine,
    ):
        assert await said(engine) == "hello"
        opa.serve = serve
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await failure(engine) is code
        assert loop.time() - began < BOUNDS.timeout_s + 5
        opa.serve = good
        assert await said(engine) == "hello"
        await eventually(lambda: opa.open <= 2)


@pytest.mark.req("ENG-3")
def test_every_trouble_has_a_code() -> None:
    assert set(CODES) == set(Trouble)


@pytest.mark.req("ENG-3")
async def test_a_server_that_is_gone_denies(socket_directory: Path) -> None:
    async with asking(unix(socket_directory / "nobody.sock"), bounds=BOUNDS, pushes=False) as engine:
        assert await failure(engine) is UNAVAILABLE
        assert engine.figures.answers["unreachable"] >= 1


@pytest.mark.req("ENG-3")
async def test_a_redirect_is_not_followed(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=BOUNDS, pushes=False) as engine,
    ):
        asked = len(opa.requests)
        opa.serve = always(answered({}, "307 Temporary Redirect", "Location: /v1/data/system"))
        await failure(engine)
        assert len(opa.requests) == asked + 1


async def test_connections_are_used_again(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=BOUNDS, pushes=False) as engine,
    ):
        for _ in range(20):
            assert await said(engine) == "hello"
        assert opa.connections == 1


async def test_an_idle_connection_that_the_server_closed_costs_no_call(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=BOUNDS, pushes=False) as engine,
    ):
        opa.serve = good_then_ends
        for _ in range(5):
            assert await said(engine) == "hello"
        assert opa.connections >= 5


async def good_then_ends(client: Client) -> None:
    await good(client)
    client.writer.close()


@pytest.mark.req("ENG-3")
async def test_a_call_that_is_cancelled_lets_its_request_go(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=OpaBounds(timeout_s=60.0, look_s=1000.0), pushes=False) as engine,
    ):
        opa.serve = never
        calls = [asyncio.create_task(said(engine)) for _ in range(3)]
        await eventually(lambda: opa.open == 3)
        for call in calls:
            call.cancel()
        await eventually(lambda: opa.open == 0)
        await asyncio.gather(*calls, return_exceptions=True)
        assert engine.figures.in_flight == 0
        opa.serve = good
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-3")
async def test_a_slow_server_makes_no_calls_pile_up(socket_directory: Path) -> None:
    bounds = OpaBounds(timeout_s=1.0, connections=4, queued=8, failures=1000, look_s=1000.0)
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=bounds, pushes=False) as engine,
    ):
        opa.serve = never
        loop = asyncio.get_running_loop()
        began = loop.time()
        calls = [asyncio.create_task(failure(engine)) for _ in range(100)]
        await eventually(lambda: sum(call.done() for call in calls) >= 88)
        assert loop.time() - began < bounds.timeout_s, "who finds no place is denied at once"
        assert opa.open <= 4
        codes = await asyncio.gather(*calls)
        assert loop.time() - began < bounds.timeout_s + 5
        # Who has waited gets a connection when the first give theirs back, for what is left of the time.
        assert 4 <= codes.count(TIMEOUT) <= 12
        assert set(codes) == {TIMEOUT, UNAVAILABLE}
        assert (engine.figures.in_flight, engine.figures.waiting) == (0, 0)


@pytest.mark.req("ENG-3")
async def test_after_failures_in_a_row_calls_are_denied_unasked_until_one_probe_succeeds(
    socket_directory: Path,
) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=STRICT, pushes=False) as engine,
    ):
        opa.serve = always(answered(b"", "503 Service Unavailable"))
        for _ in range(STRICT.failures):
            assert await failure(engine) is UNAVAILABLE
        assert not engine.ready
        assert "503" in engine.trouble
        asked = len(opa.requests)
        for _ in range(50):
            assert await failure(engine) is UNAVAILABLE
        assert len(opa.requests) - asked <= 1
        opa.serve = good
        await eventually(lambda: engine.ready)
        assert await said(engine) == "hello"
        assert engine.figures.opened == 1


@pytest.mark.req("ENG-3")
async def test_an_open_breaker_asks_one_question_at_a_time_and_less_and_less_often(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=STRICT, pushes=False) as engine,
    ):
        opa.serve = never
        await asyncio.gather(*(failure(engine) for _ in range(STRICT.failures)))
        assert not engine.ready
        await eventually(lambda: opa.open == 1)
        asked = len(opa.requests)
        await eventually(lambda: len(opa.requests) == asked + 2)
        assert opa.open <= 1


@pytest.mark.req("ENG-3", "LIFE-7")
async def test_a_server_that_nobody_asks_is_looked_at(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=STRICT, pushes=False) as engine,
    ):
        assert engine.ready
        opa.serve = then_ends()
        await eventually(lambda: not engine.ready)
        opa.serve = good
        await eventually(lambda: engine.ready)


async def test_a_server_without_policies_is_asked_now_and_then_and_not_all_the_time(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=BOUNDS, pushes=False) as engine,
    ):
        opa.serve = always(answered({}))
        assert await failure(engine) is UNAVAILABLE
        await eventually(lambda: not engine.ready)
        asked = len(opa.requests)
        for _ in range(10):
            await a_moment()
        assert len(opa.requests) <= asked + 1


async def test_what_is_wrong_with_a_policy_says_nothing_about_the_server(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(unix(opa.path), bounds=OpaBounds(failures=2, look_s=1000.0), pushes=False) as engine,
    ):
        opa.serve = always(answered({"result": {"policy": POLICY}}))
        for _ in range(5):
            assert await failure(engine) is GatewayErrorCode.POLICY_UNDEFINED
        assert engine.ready
