"""What `buf` says of the contract: its form, what it must not break, and how a gateway is asked without it (CON-4)."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.app import running
from interlock_gateway.config import Config, Front, IdentityConfig, PolicyConfig, ServerConfig, StateConfig
from interlock_gateway.config_telemetry import MetricsConfig

ROOT = Path(__file__).resolve().parents[2]
BUF = Path(sys.executable).parent / "buf"
ACCEPTED = ROOT / "proto" / "accepted" / "interlock-v1.binpb"
PATIENCE_S = 60


def buf(*arguments: object, where: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BUF, *map(str, arguments)], cwd=where, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


@pytest.mark.req("CON-4")
def test_the_protos_have_the_form_that_buf_asks_for_and_break_nothing_that_was_accepted() -> None:
    for ran in (buf("lint"), buf("breaking", "--against", ACCEPTED)):
        assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


@pytest.mark.req("CON-4")
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("bytes input = ", "string input = ", "changed type"),
        ("rpc GetCall(", "rpc FetchCall(", "was deleted"),
        ("string intent = 3;", "string intent = 33;", "was deleted"),
    ],
)
def test_a_change_that_breaks_clients_is_found(tmp_path: Path, before: str, after: str, found: str) -> None:
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    changed = 0
    for path in (tmp_path / "proto").rglob("*.proto"):
        text = path.read_text(encoding="utf-8")
        changed += text.count(before)
        path.write_text(text.replace(before, after), encoding="utf-8")
    assert changed
    ran = buf("breaking", "--against", ACCEPTED, where=tmp_path)
    assert ran.returncode != 0
    assert found in ran.stdout


@pytest.mark.req("CON-4")
@pytest.mark.parametrize("front", Front)
async def test_a_gateway_is_asked_by_its_reflection_alone(front: Front, socket_directory: Path, tmp_path: Path) -> None:
    config = Config(
        state=StateConfig(dir=socket_directory / "state"),
        server=ServerConfig(listen=("127.0.0.1:0",), front=front),
        identity=IdentityConfig(anonymous_agents_on_loopback=True),
        metrics=MetricsConfig(listen=""),
        policy=PolicyConfig(timeout_s=5.0, watch=False, workers=1),
    )
    async with running(config) as gateway:
        address = f"http://{gateway.endpoints.agents[0]}"
        services = await asked(tmp_path, "--list-services", address)
        assert "interlock.v1.GatewayService" in services
        opened = json.loads(
            await asked(tmp_path, "--data", '{"intent": "look"}', f"{address}/interlock.v1.GatewayService/OpenSession")
        )
        called = {"call": {"sessionId": opened["session"]["sessionId"], "tool": "nothing", "input": "e30="}}
        answer = json.loads(
            await asked(tmp_path, "--data", json.dumps(called), f"{address}/interlock.v1.GatewayService/CallTool")
        )
        assert answer["result"]["status"] == "CALL_STATUS_DENIED"


async def asked(where: Path, *arguments: Any) -> str:
    """What `buf curl` gets, run where there are no protos."""
    ran = await asyncio.to_thread(buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments, where=where)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
