"""`interlock policy eval` about a tool by its name: as it is pinned here, or as one that declares nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_runs import run
from interlock_gateway.core.tool import ToolDefinition, ToolMetadata
from interlock_gateway.registry.fingerprint import definition_document
from interlock_gateway.registry.pins import FIRST_USE, Pin
from interlock_gateway.state.store import SqlStateStore

BASH = ToolDefinition("bash", metadata=ToolMetadata(destructive=True, permission_class="bash"))
LS = {"tool": "bash", "input": {"command": "ls"}}


def pinned(directory: Path, *pins: Pin) -> None:
    """Have them in the state directory, as a gateway leaves them."""

    async def keep() -> None:
        async with await SqlStateStore.open(f"sqlite:///{directory / 'state' / 'state.db'}", replica_id="r1") as store:
            for pin in pins:
                await store.pins.save_pin(pin)

    (directory / "state").mkdir()
    asyncio.run(keep())


def a_pin(definition: ToolDefinition, provider: str = "toolbox", at: float = 1.0, by: str = FIRST_USE) -> Pin:
    return Pin(provider, definition.name, "0" * 64, json.dumps(definition_document(definition)), at, by)


def config_of(directory: Path, more: str = "", provider: str = "{name: toolbox, address: 'unix:/nowhere'}") -> Path:
    file = directory / "interlock.yaml"
    file.write_text(f"state: {{dir: {directory / 'state'}}}\nproviders: [{provider}]\n{more}")
    return file


def decided(config: Path, call: dict[str, Any] = LS) -> tuple[Any, str]:
    ended = run("policy", "eval", json.dumps(call), "--config", config, "--output", "json")
    return json.loads(ended.stdout), ended.stderr


@pytest.mark.req("LIFE-2")
def test_a_tool_that_is_not_known_is_said_to_be_decided_about_as_one_that_declares_nothing(tmp_path: Path) -> None:
    shown, said = decided(config_of(tmp_path))
    assert shown["input"]["tool"]["metadata"] == {}
    assert said.startswith("the definition of bash is not known here, so it is decided about as a tool that declares")
    assert not (tmp_path / "state").exists(), "looking makes nothing"


@pytest.mark.req("LIFE-2")
def test_a_tool_that_the_gateway_here_has_pinned_is_decided_about_as_there(tmp_path: Path) -> None:
    pinned(tmp_path, a_pin(ToolDefinition("bash"), at=1.0, provider="other"), a_pin(BASH, at=2.0))
    shown, said = decided(config_of(tmp_path))
    assert shown["decision"]["verdict"] == "allow"
    assert [reason["code"] for reason in shown["decision"]["reasons"]] == ["bash_read_only"]
    assert said == f"bash is taken as toolbox declared it when it was pinned in {tmp_path / 'state'}\n"
    explained = run("policy", "explain", json.dumps(LS), "--config", config_of(tmp_path))
    assert said == explained.stderr


@pytest.mark.req("TOOL-3")
@pytest.mark.parametrize(("by", "believed"), [(FIRST_USE, False), ("olga", True)])
def test_it_is_believed_as_far_as_the_gateway_believes_its_provider(tmp_path: Path, by: str, *, believed: bool) -> None:
    look = ToolDefinition("look", metadata=ToolMetadata(read_only=True))
    pinned(tmp_path, a_pin(look, "web", by=by))
    config = config_of(tmp_path, provider="{name: web, mcp: {url: 'http://127.0.0.1:1/mcp'}}")
    shown, _ = decided(config, {"tool": "look", "input": {}})
    assert (shown["decision"]["verdict"] == "allow") == believed


def test_what_the_configuration_says_of_a_tool_holds_and_is_all_that_is_known(tmp_path: Path) -> None:
    shown, said = decided(config_of(tmp_path, "tools: {look: {read_only: true}}\n"), {"tool": "look"})
    assert shown["decision"]["verdict"] == "allow"
    assert said.startswith("of look nothing is known but what the configuration says of it")


@pytest.mark.parametrize("broken", [b"", b"no database", None])
def test_a_database_that_cannot_be_read_is_passed_over(tmp_path: Path, broken: bytes | None) -> None:
    if broken is None:
        pinned(tmp_path, Pin("toolbox", "bash", "0" * 64, "{}", 1.0, FIRST_USE))
    else:
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "state.db").write_bytes(broken)
    assert "is not known here" in decided(config_of(tmp_path))[1]


def test_nothing_is_said_of_a_definition_that_was_given(tmp_path: Path) -> None:
    look = {"name": "look", "metadata": {"read_only": True}}
    assert decided(config_of(tmp_path), {"tool": look, "input": {}})[1] == ""
