"""The example plug-ins, installed with pip and used by a gateway of their own (PIPE-13)."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from interlock import CallStatus
from served_gateway import holding, served

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed."""
    source, target = tmp_path_factory.mktemp("plugin") / "source", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source)
    options = ("--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)],
        check=True,
        timeout=100,
    )
    return target


@pytest.mark.req("PIPE-13")
async def test_the_example_plug_ins_stop_a_change_without_a_ticket_and_write_down_what_happens(
    socket_directory: Path, installed: Path
) -> None:
    diary = socket_directory / "diary.jsonl"
    extensions = {
        "interceptors": [{"name": "ticket", "settings": {"pattern": "OPS-[0-9]+"}}],
        "hooks": [{"name": "diary", "settings": {"path": str(diary)}}],
    }
    async with (
        holding(socket_directory) as held,
        served(socket_directory, more={"extensions": extensions}, path=installed) as gateway,
    ):
        session = gateway.agent.session("s")
        denied = await session.call("append", {"value": "x"}, call_id="none")
        assert (denied.status, denied.decision.reasons[0].code) == (CallStatus.DENIED, "interceptor_cancelled")
        assert "ticket" in denied.text
        done = await session.call("append", {"value": "x"}, labels={"ticket": "OPS-7"}, call_id="named")
        assert [part.text for part in done.content] == ["appended x", "Mention OPS-7 when you say what you did."]
        assert held.ran == ["x"]
        assert await gateway.ended_by(signal.SIGTERM) == 0
    events = [json.loads(line) for line in diary.read_text().splitlines()]
    assert [one["moment"] for one in events if one.get("call_id") == "named"] == [
        "received",
        "decided",
        "dispatched",
        "ended",
    ]


def check(directory: Path, extensions: object, path: Path | None) -> "subprocess.CompletedProcess[str]":
    (directory / "interlock.yaml").write_text(
        json.dumps({"state": {"dir": str(directory / "state")}, "extensions": extensions, "metrics": {"listen": ""}})
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), env.get("PYTHONPATH", ""))))
    config = str(directory / "interlock.yaml")
    command = (sys.executable, "-m", "interlock_gateway.cli.main", "check", "--offline", "--config", config)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.req("PIPE-13")
def test_check_says_whether_plug_ins_can_be_loaded(socket_directory: Path, installed: Path) -> None:
    named = {"interceptors": [{"name": "ticket"}], "hooks": [{"name": "diary"}]}
    fine = check(socket_directory, named, installed)
    assert "plug-in ticket" in fine.stdout
    assert "FAILED" not in [line.split()[2] for line in fine.stdout.splitlines() if line.startswith("plug-in")]
    missing = check(socket_directory, named, None)
    assert "the plug-in ticket is not installed" in missing.stdout
    assert missing.returncode == 1
    refused = check(socket_directory, {"hooks": [{"name": "a"}, {"name": "a"}]}, None)
    assert refused.returncode == 2
    assert "a is named more than once" in refused.stderr
