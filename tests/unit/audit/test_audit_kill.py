import random
import subprocess
import sys
from pathlib import Path

import pytest
from interlock_gateway.audit.read import read_records
from interlock_gateway.audit.verify import verify

WRITER = """
import asyncio, sys, time
from pathlib import Path
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.results.redaction import Redactor

class Clock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

async def main():
    directory, first = Path(sys.argv[1]), int(sys.argv[2])
    log = AuditLog(directory / "audit", load_or_create(directory / "key.pem"), Clock(), Redactor(),
                   AuditLimits(segment_bytes=20_000))
    async def one(n):
        await log.commit({"kind": "intent", "n": n, "filler": "x" * (n % 700)})
        print(n, flush=True)
    for start in range(first, 10**9, 8):
        await asyncio.gather(*(one(start + n) for n in range(8)))

asyncio.run(main())
"""


@pytest.mark.req("AUD-2", "REL-4", "STATE-2")
def test_no_acknowledged_record_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    rng = random.Random(11)
    for _ in range(6):
        first = (acknowledged[-1] + 100) if acknowledged else 0
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += [int(process.stdout.readline()) for _ in range(rng.randrange(1, 150))]
            process.kill()
            acknowledged += [int(line) for line in process.stdout.read().splitlines() if line.strip()]
        acknowledged.sort()
    pem = (tmp_path / "key.pem.pub").read_bytes()
    assert verify(tmp_path / "audit", pem).ok
    written = [record.record["n"] for record in read_records(tmp_path / "audit") if record.kind == "intent"]
    assert set(acknowledged) <= set(written)
    assert len(written) == len(set(map(str, written)))
