"""What the tools declare, and how people see them."""

import json
from typing import Any

import pytest
from interlock.v1.provider_pb2 import ToolInvocation, ToolResult
from interlock.v1.tool_pb2 import ToolDefinition
from interlock.v1.tool_provider_service_pb2 import RenderCallRequest, RenderResultRequest
from toolbox_workplaces import Box

TOOLS = ["bash", "batch_rename", "delete", "edit", "glob", "grep", "list", "read", "restore", "write"]


@pytest.fixture
def definitions(local_box: Box) -> dict[str, ToolDefinition]:
    return {one.name: one for one in local_box.provider.describe().tools}


def flags(definition: ToolDefinition) -> dict[str, bool]:
    metadata = definition.metadata
    return {
        "read_only": metadata.read_only,
        "destructive": metadata.destructive,
        "concurrency_safe": metadata.concurrency_safe,
        "open_world": metadata.open_world,
        "dry_run": definition.capability.dry_run,
        "reversible": definition.capability.reversible,
    }


CHANGING = {"read_only": False, "destructive": False, "concurrency_safe": False, "open_world": False}
LOOKING = {
    "read_only": True,
    "destructive": False,
    "concurrency_safe": True,
    "open_world": False,
    "dry_run": False,
    "reversible": False,
}
FLAGS = {
    "write": {**CHANGING, "dry_run": True, "reversible": True},
    "edit": {**CHANGING, "dry_run": True, "reversible": True},
    "delete": {**CHANGING, "destructive": True, "dry_run": True, "reversible": True},
    "restore": {**CHANGING, "dry_run": False, "reversible": True},
    "batch_rename": {**CHANGING, "dry_run": False, "reversible": True},
    "bash": {**CHANGING, "destructive": True, "open_world": True, "dry_run": False, "reversible": False},
    **dict.fromkeys(("read", "glob", "grep", "list"), LOOKING),
}


def test_these_are_the_tools(definitions: dict[str, ToolDefinition]) -> None:
    assert sorted(definitions) == TOOLS


@pytest.mark.req("BOX-3", "BOX-4", "BOX-5", "BOX-6", "BOX-7", "BOX-8")
@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_declares_its_effect(definitions: dict[str, ToolDefinition], name: str) -> None:
    metadata = definitions[name].metadata

    assert flags(definitions[name]) == FLAGS[name]
    assert all(metadata.HasField(flag) for flag in ("read_only", "destructive", "concurrency_safe", "open_world"))
    assert metadata.permission_class == ("bash" if name == "bash" else "file")
    assert metadata.audit_operation
    assert definitions[name].capability.min_confidence == (70 if name == "delete" else 0)


@pytest.mark.req("BOX-3", "BOX-4", "BOX-5")
def test_what_can_be_undone_names_the_tool_that_undoes_it(definitions: dict[str, ToolDefinition]) -> None:
    for one in definitions.values():
        assert one.capability.undo_tool == ("restore" if one.capability.reversible else "")


@pytest.mark.parametrize("name", TOOLS)
def test_policies_are_told_which_argument_holds_the_path_or_command(
    definitions: dict[str, ToolDefinition], name: str
) -> None:
    properties = json.loads(definitions[name].input_schema)["properties"]
    if name == "batch_rename":
        properties = properties["renames"]["items"]["properties"]

    facts = {key: value["x-interlock-fact"] for key, value in properties.items() if "x-interlock-fact" in value}

    several = {"bash": {"command": "command"}, "batch_rename": {"path": "path", "new_path": "path"}}
    several["grep"] = {"path": "path", "glob": "glob"}
    assert facts == several.get(name, {"path": "path"})


@pytest.mark.req("BOX-11")
@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_says_what_belongs_in_a_prompt(definitions: dict[str, ToolDefinition], name: str) -> None:
    one = definitions[name]

    assert one.prompt_snippet.startswith(f"{name}: ")
    assert "\n" not in one.prompt_snippet
    assert all(line.endswith(".") for line in one.prompt_guidelines)
    assert one.prompt_guidelines
    assert one.title
    assert one.description
    for argument in json.loads(one.input_schema)["properties"].values():
        assert argument["description"]


INPUTS = {
    "read": ({"path": "a.txt", "offset": 3}, "read a.txt from line 3"),
    "write": ({"path": "a.txt", "content": "one\ntwo\n"}, "write a.txt (2 lines, 8 bytes)"),
    "edit": ({"path": "a", "old_string": "a", "new_string": "b", "replace_all": True}, "edit a (every occurrence)"),
    "delete": ({"path": "d"}, "delete d"),
    "bash": ({"command": "make test\nmake install"}, "$ make test …"),
    "glob": ({"pattern": "*.py", "path": "src"}, "find *.py in src"),
    "grep": ({"pattern": "x+"}, "search for x+"),
    "list": ({}, "list ."),
    "batch_rename": ({"renames": [{"path": "a", "new_path": "b"}]}, "rename 1 path"),
    "restore": ({"path": "/r/a.txt", "record": "0" * 32}, "restore /r/a.txt to what it was before"),
}  # fmt: skip


@pytest.mark.req("BOX-11")
@pytest.mark.parametrize("name", TOOLS)
async def test_people_see_a_call_as_one_line_and_more_when_there_is_more(local_box: Box, name: str) -> None:
    given, line = INPUTS[name]
    invocation = ToolInvocation(tool=name, input=json.dumps(given).encode())

    rendering = (await local_box.provider.render_call(RenderCallRequest(invocation=invocation))).rendering

    assert rendering.summary == line
    expected = {"write": "one\ntwo\n", "edit": "- a\n+ b", "bash": "make test\nmake install"}
    expected["batch_rename"] = "a -> b"
    assert rendering.expanded == expected.get(name, "")


@pytest.mark.req("BOX-11")
@pytest.mark.parametrize(
    ("name", "given", "summary"),
    [
        ("read", {"path": "a.txt"}, "read a.txt, lines 1-2 (to the end)"),
        ("write", {"path": "b.txt", "content": "x"}, "Wrote b.txt, a new file: 1 line, 1 byte"),
        ("edit", {"path": "a.txt", "old_string": "one", "new_string": "1"}, "Edited a.txt: 1 replacement"),
        ("delete", {"path": "a.txt"}, "Deleted the file a.txt, 8 bytes. It is in the trash and can be restored"),
        ("glob", {"pattern": "*.txt"}, "1 file found"),
        ("grep", {"pattern": "o"}, "2 matching lines in 1 file"),
        ("list", {}, "1 entry found"),
        ("batch_rename", {"renames": [{"path": "a.txt", "new_path": "b.txt"}]}, "plan to rename 1 path"),
        ("delete", {"path": "nothing"}, "failed: nothing does not exist"),
    ],
)
async def test_people_see_a_result_as_one_line_and_all_of_it(
    box: Box, name: str, given: dict[str, Any], summary: str
) -> None:
    box.workplace.put("a.txt", b"one\ntwo\n")
    invocation = ToolInvocation(tool=name, input=json.dumps(given).encode())
    result: ToolResult = await box.result(name, **given)

    request = RenderResultRequest(invocation=invocation, result=result)
    rendering = (await box.provider.render_result(request)).rendering

    assert rendering.summary == summary
    assert rendering.expanded == result.output


@pytest.mark.req("BOX-11")
async def test_people_see_how_a_command_ended(local_box: Box) -> None:
    invocation = ToolInvocation(tool="bash", input=b'{"command": "exit 3"}')
    result = await local_box.result("bash", command="exit 3")

    request = RenderResultRequest(invocation=invocation, result=result)
    rendering = (await local_box.provider.render_result(request)).rendering

    assert rendering.summary.startswith("exit code 3 after ")
