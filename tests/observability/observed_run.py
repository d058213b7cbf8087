"""A real run of the demonstration, and of a second gateway beside it, under the eyes of a real Prometheus.

The second gateway has what the demonstration has not: a candidate policy, a webhook, a question that stays open.
"""

import asyncio
import contextlib
import io
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from interlock import Gateway, Session
from interlock.admin import Admin
from interlock_gateway.demo.__main__ import play_on
from interlock_gateway.demo.screen import Screen
from interlock_gateway.demo.stage import Stage, serving, staged
from prometheus_server import Prometheus, running_prometheus
from waiting import eventually_so

PATIENCE_S = 30.0
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed. `began` and `ended` are Unix seconds; `rate_s` is a window that holds several scrapes."""

    prometheus: Prometheus
    began: float
    ended: float
    rate_s: float

    def asked(self, expression: str) -> str:
        """A panel's query as Grafana would send it, with every variable set."""
        for name in ("namespace", "job", "instance"):
            expression = expression.replace(f"${name}", ".*")
        range_s = max(1, round(self.ended - self.began))
        return expression.replace("$__rate_interval", f"{self.rate_s:.0f}s").replace("$__range", f"{range_s}s")


@asynccontextmanager
async def observed(program: Path, directory: Path, *, scrape_s: float, last_s: float = 0.0) -> AsyncIterator[Observed]:
    """Play everything once, or again and again for `last_s` seconds; Prometheus is there to be asked in the block."""
    with staged(directory / "stage") as stage:
        state = directory / "second"
        async with _webhook() as url:
            config = directory / "second.yaml"
            config.write_text(json.dumps(_config(state, stage, url)))  # JSON is YAML too
            with serving(config, directory / "second.log") as metrics_url:
                targets = [one.split("/")[2] for one in (stage.metrics_url, metrics_url)]
                with running_prometheus(program, directory, targets, scrape_s=scrape_s) as prometheus:
                    await _scraped_after(prometheus, 0.0, len(targets))
                    began = time.time()
                    await _play(stage, state, began + last_s)
                    # What is counted for the first time comes from nothing; to Prometheus only a second time is growth.
                    await _scraped_after(prometheus, time.time(), len(targets))
                    await _everything_else(state)
                    # A rate takes two scrapes that know of everything.
                    await _scraped_after(prometheus, time.time() + 2 * scrape_s, len(targets))
                    yield Observed(prometheus, began, time.time(), max(5.0, 6 * scrape_s))


async def _scraped_after(prometheus: Prometheus, moment: float, targets: int) -> None:
    """Return once every gateway was scraped after a Unix time."""

    async def scraped() -> bool:
        return len(prometheus.query(f"timestamp(interlock_serving) > {moment}")) == targets

    await eventually_so(scraped, PATIENCE_S)


async def _play(stage: Stage, second: Path, until: float) -> None:
    """The demonstration at the one gateway, then everything else at the other: they work in one workspace."""
    while True:
        await _demonstration(stage)
        await _everything_else(second)
        if time.time() >= until:
            return


async def _demonstration(stage: Stage) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        await play_on(stage, Screen(colour=False))


async def _everything_else(state: Path) -> None:
    async with Gateway(f"unix:{state}/agent.sock") as agent, Gateway(f"unix:{state}/operator.sock") as operator:
        session = await agent.open_session(intent="release the shop")
        await eventually_so(lambda: _tools_are_there(session), PATIENCE_S)
        await _read_and_write(session)
        await session.call("deploy", {"service": "shop", "version": "2.0.0"}, checkpoint_mode="detach")
        await Admin(operator).reload_policy()


async def _read_and_write(session: Session) -> None:
    await session.call("write", {"path": "token.txt", "content": f"token: {SECRET}\n"})
    await session.resolve("apply", "it is needed for a moment")
    await session.call("read", {"path": "token.txt"})
    await session.call("read", {"path": "/etc/shadow"})
    await session.call("no_such_tool", {})
    await session.call("bash", {"command": "rm -rf /"})
    await session.call("delete", {"path": "token.txt", "_flyto_confidence": 95})
    await session.resolve("apply", "it was needed for a moment only")


async def _tools_are_there(session: Session) -> bool:
    return {"bash", "deploy"} <= {listed.name for listed in (await session.tools()).tools}


def _config(state: Path, stage: Stage, webhook_url: str) -> dict[str, object]:
    secret = "whsec_" + "c2VjcmV0" * 4
    webhook = {"name": "chat", "url": webhook_url, "secret": secret, "approvers": [{"principal": "ada"}]}
    return {
        "state": {"dir": str(state)},
        "server": {"listen": ["unix:{state}/agent.sock"], "operator_listen": ["unix:{state}/operator.sock"]},
        "metrics": {"listen": "127.0.0.1:0"},
        "workspace_roots": [str(stage.workspace)],
        "policy": {"timeout_s": 5, "shadow": {"profile": "strict", "timeout_s": 5}},
        "approvals": {"listen": "127.0.0.1:0", "webhooks": [webhook]},
        "providers": [{"name": name, "address": f"unix:{stage.state}/{name}.sock"} for name in ("toolbox", "releases")],
    }


@asynccontextmanager
async def _webhook() -> AsyncIterator[str]:
    """Whoever is asked at a webhook, and takes everything that is posted."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
        await reader.readexactly(int(sizes[0]))
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/checkpoints"
