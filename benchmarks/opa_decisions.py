"""One decision of an OPA server on this machine, over a Unix socket, as a gateway asks it (PERF-4)."""

import asyncio
import statistics
import tempfile
import time

from interlock_gateway.clock import SystemClock
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.settings import OpaAccess, OpaBounds

LOOK_S = 0.05


async def through_opa(opa: str, document: bytes, rounds: int) -> dict[str, object]:
    """The time of one decision with the program `opa`, which is started and ended."""
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as directory:
        path = f"{directory}/opa.sock"
        arguments = ("run", "--server", "--addr", f"unix://{path}", "--log-level", "error", "--disable-telemetry")
        nowhere = asyncio.subprocess.DEVNULL
        server = await asyncio.create_subprocess_exec(opa, *arguments, stdout=nowhere, stderr=nowhere)
        bounds = OpaBounds(timeout_s=5.0, look_s=LOOK_S)
        engine = OpaEngine(OpaAccess(socket=path), bounds, SystemClock(), bundle=load_bundle(), max_input_bytes=1 << 23)
        try:
            await engine.start()
            while not engine.ready:  # noqa: ASYNC110 - another process, which announces nothing
                await asyncio.sleep(LOOK_S)
            taken = [await _one(engine, document) for _ in range(rounds)]
        finally:
            await engine.close()
            server.kill()
            await server.wait()
    what = "input of 1 KB, through an OPA server on this machine and back"
    return {"what": what, "p50_us": statistics.median(taken), "p99_us": statistics.quantiles(taken, n=100)[98]}


async def _one(engine: OpaEngine, document: bytes) -> float:
    began = time.perf_counter()
    await engine.evaluate(document)
    return (time.perf_counter() - began) * 1e6
