"""An approver's edit: secrets they were not shown stay, what they see is what changed (CHK-7)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from interlock_gateway.approvals.editing import MOST_LINES, Editor, difference
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.errors import RequestError
from waiting_checkpoints import waiting

SECRET = "hunter2-is-long-enough-4711"
ASKED = {"url": "db://prod", "password": SECRET, "options": [{"password": SECRET}, 1], "_flyto_confidence": 90}
SHOWN = {"url": "db://prod", "password": "[redacted:password]", "options": [{"password": "[redacted:password]"}, 1]}


def edited(editor: Editor, **changes: Any) -> Any:
    checkpoint = waiting(input=json.dumps(ASKED).encode(), shown_input=json.dumps(SHOWN).encode())
    return editor.edit(checkpoint, json.dumps({**SHOWN, **changes}).encode())


@pytest.mark.req("CHK-7")
def test_secrets_that_were_left_masked_stay_what_they_were(editor: Editor) -> None:
    edit = edited(editor, url="db://staging")
    assert json.loads(edit.input) == {**ASKED, "url": "db://staging"}
    assert SECRET not in edit.difference
    assert '-  "url": "db://prod"' in edit.difference
    assert '+  "url": "db://staging"' in edit.difference


@pytest.mark.req("CHK-7")
def test_a_secret_that_is_put_in_is_not_in_the_difference(editor: Editor) -> None:
    edit = edited(editor, password="another-secret-0815-x")
    assert json.loads(edit.input)["password"] == "another-secret-0815-x"
    assert "0815" not in edit.difference


@pytest.mark.req("CHK-7")
@pytest.mark.parametrize(
    "changes",
    [
        {"other": "[redacted:password]"},
        {"password": "x[redacted:password]"},
        {"options": [{"password": "[redacted:password]"}]},
        {"[redacted:password]": 1},
    ],
)
def test_a_mark_that_stands_for_nothing_is_refused(editor: Editor, changes: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="stands for a secret"):
        edited(editor, **changes)


def test_an_edit_without_secrets_keeps_its_bytes(editor: Editor) -> None:
    raw = b'{ "table" : "staging_users", "limit": 1.0 }'
    assert editor.edit(waiting(), raw).input == raw


@pytest.mark.req("CHK-7")
@pytest.mark.parametrize("raw", [b'{"n":1.0}', b'{"n":true}', b'{"n":"1"}'])
def test_what_only_python_calls_equal_is_a_change(editor: Editor, raw: bytes) -> None:
    checkpoint = replace(waiting(), input=b'{"n":1}', shown_input=b'{"n":1}')
    assert editor.edit(checkpoint, raw).input == raw
    with pytest.raises(RequestError, match="what was asked for"):
        editor.edit(checkpoint, b'{"n": 1}')


def test_long_inputs_are_compared_by_their_members() -> None:
    before: JsonObject = {"lines": [0] * (MOST_LINES + 1), "same": 1}
    after: JsonObject = {**before, "lines": [0]}
    assert difference(before, after).splitlines()[1:] == ["lines"]
