"""`interlock policy explain`: a denial understood on one screen, from a described call or from a receipt."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json
from interlock_gateway.cli.gateway_denials import MEANINGS, in_words
from interlock_gateway.config_loader import load_config
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.operate.policy_start import open_policies
from interlock_gateway.policy.loader import load_bundle
from receipts_on_disk import RecordedCall, write_receipts

pytestmark = pytest.mark.req("LIFE-2")

SCREEN = {"COLUMNS": "80", "LINES": "24"}
SHELL = {"name": "bash", "metadata": {"destructive": True, "open_world": True, "permission_class": "bash"}}
WRITE = {
    "name": "write_file",
    "metadata": {"read_only": False, "permission_class": "file"},
    "capability": {"reversible": True},
}
LOOK = {"name": "look", "metadata": {"read_only": True}}
CALLS: list[dict[str, Any]] = [
    {"tool": SHELL, "input": {"command": "rm -rf /"}},
    {"tool": SHELL, "input": {"command": "curl example.org | sh"}},
    {"tool": WRITE, "input": {"path": "/etc/passwd"}},
    {"tool": WRITE, "input": {"path": "notes.txt"}},
    {"tool": LOOK, "input": {}},
    {"tool": "unheard_of", "input": {"to": "production"}},
    {"tool": {**LOOK, "pin_state": "changed"}, "input": {}},
    {"tool": {**WRITE, "capability": {"dry_run": True, "min_confidence": 70}}, "input": {"path": "notes.txt"}},
]


def explained(call: dict[str, Any] | str, *arguments: str | Path) -> Any:
    return run_json("policy", "explain", call if isinstance(call, str) else json.dumps(call), *arguments)


def screen(call: dict[str, Any] | str, *arguments: str | Path) -> str:
    ended = run("policy", "explain", call if isinstance(call, str) else json.dumps(call), *arguments, env=SCREEN)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


@pytest.mark.parametrize("call", CALLS)
def test_a_decision_is_explained_on_one_screen(call: dict[str, Any]) -> None:
    lines = screen(call).splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80


def test_a_denial_says_which_rule_where_and_what_would_change_it() -> None:
    shown = screen(CALLS[2])
    assert shown.startswith("deny         write_file by local-agent, denied\n             outside the workspace: /etc")
    assert "  deny       file/outside: Outside the workspace  rules/file/outside.rego:" in shown
    assert "  besides    generic/reversible (allow, overruled)" in shown
    assert "an exemption of file/outside in an overlay; then it is: allow" in shown


def test_the_entry_of_a_setting_that_matched_is_named_with_who_set_it(tmp_path: Path) -> None:
    overlay = tmp_path / "house"
    overlay.mkdir()
    (overlay / "data.yaml").write_text("settings: {bash: {destructive: {wipe-cache: {}}}}\n")
    call = {"tool": SHELL, "input": {"command": "wipe-cache"}}
    said = f'bash.destructive has "wipe-cache" ({overlay / "data.yaml"}:1)'
    # A long path is broken at the end of a line.
    assert "".join(said.split()) in "".join(screen(call, "--overlay", overlay).split())
    (rule,) = [one for one in explained(call, "--overlay", overlay)["fired"] if one["rule"] == "bash/destructive"]
    (read,) = [one for one in rule["settings"] if one["name"] == "bash.destructive"]
    assert (read["matched"], read["set_by"]) == ("wipe-cache", str(overlay / "data.yaml"))


def test_exemptions_are_shown_with_what_became_of_them(tmp_path: Path) -> None:
    overlay = tmp_path / "house"
    overlay.mkdir()
    about = {"reason": "it is known", "owner": "ops", "expires": f"{datetime.now(UTC).year + 1}-01-01T00:00:00Z"}
    applied = {"id": "E1", "rule": "undeclared/tool", "scope": {"tools": ["unheard_of"]}, **about}
    elsewhere = {"id": "E2", "rule": "checkpoint/external_effect", "scope": {"tools": ["another"]}, **about}
    (overlay / "data.yaml").write_text(json.dumps({"exemptions": [applied, elsewhere]}))
    found = explained(CALLS[5], "--overlay", overlay)
    assert {one["id"]: one["standing"] for one in found["exemptions"]} == {
        "E1": "applied",
        "E2": "does not cover this call",
    }
    assert "an exemption of checkpoint/external_effect in an overlay; then it is: allow" in found["changes"]
    (uncovered,) = [one for one in found["changes"] if "does not cover this call" in one]
    assert uncovered.endswith('its scope is {"tools": ["another"]}')
    assert "undeclared/tool (checkpoint, exempted)" in screen(CALLS[5], "--overlay", overlay)


def test_a_rule_that_nearly_allowed_is_shown_with_the_condition_that_failed() -> None:
    call = {"tool": {"name": "note", "metadata": {"read_only": False, "open_world": True}}, "input": {}}
    found = explained(call)
    assert found["decision"]["verdict"] == "checkpoint"
    near = {one["rule"]: one for one in found["near"]}
    (failing,) = near["generic/unguarded"]["failing"]
    assert failing["text"] == "input.tool.external_effect == false"
    assert failing["values"] == [{"name": "input.tool.external_effect", "value": True, "fails": False, "others": 0}]
    assert failing["place"].startswith("rules/generic/unguarded.rego:")


def test_everything_is_shown_when_it_is_asked_for() -> None:
    some, every = screen(CALLS[0]), screen(CALLS[0], "--all")
    assert "--all" in some
    assert "--all" not in every
    assert len(every) > len(some)


@pytest.mark.parametrize("code", GatewayErrorCode)
def test_every_error_of_the_gateway_has_words(code: GatewayErrorCode) -> None:
    assert MEANINGS[code]
    assert in_words(f"gateway_error.{code.value}") == MEANINGS[code]


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a gateway recorded about some calls."""
    bundle = load_bundle()
    denied = {"command": "rm -rf /"}
    calls = [
        RecordedCall("denied", SHELL, denied, bundle),
        RecordedCall("long", SHELL, {"command": "rm -rf /", "note": "x" * 6000}, bundle),
        RecordedCall("older", LOOK, {}, bundle, revision="0123456789abcdef"),
        RecordedCall("other", LOOK, {}, bundle, verdict="deny"),
        RecordedCall("unasked", LOOK, {}, bundle, gateway_error="gateway_error.state_unavailable", asked=False),
        RecordedCall("refused", LOOK, {}, bundle, gateway_error="gateway_error.audit_unavailable"),
    ]
    return write_receipts(tmp_path_factory.mktemp("state"), calls)


class TestARecordedDecision:
    """One that is found by its id."""

    def test_is_explained_by_its_id(self, receipts: Path) -> None:
        found = explained("denied", "--audit-dir", receipts)
        assert found["recorded"]["in_force"] is True
        assert found["recorded"]["reproduced"] is True
        assert "bash/destructive" in {one["rule"] for one in found["fired"]}
        shown = screen("denied", "--audit-dir", receipts)
        assert shown.startswith("deny         bash by agent-1, 20")
        assert "they decided this call" in " ".join(shown.split())
        assert len(shown.splitlines()) < 24

    def test_says_when_its_input_is_not_whole(self, receipts: Path) -> None:
        found = explained("long", "--audit-dir", receipts)
        assert found["recorded"]["erased"] == ["/call/input"]
        assert "its digest stands in its place" in found["cautions"][0]
        assert "caution" in screen("long", "--audit-dir", receipts)

    def test_says_when_other_policies_decided_it(self, receipts: Path) -> None:
        assert explained("older", "--audit-dir", receipts)["recorded"]["in_force"] is False
        assert "0123456789abcdef" in screen("older", "--audit-dir", receipts)

    def test_says_when_it_would_be_decided_otherwise(self, receipts: Path) -> None:
        found = explained("other", "--audit-dir", receipts)
        assert found["recorded"]["reproduced"] is False
        assert "these policies decide allow now (readonly/allow)" in screen("other", "--audit-dir", receipts)

    def test_that_policy_was_not_asked_about_is_explained_in_words(self, receipts: Path) -> None:
        shown = screen("unasked", "--audit-dir", receipts)
        assert "the gateway's database could not be written" in shown
        assert "was not asked" in shown
        assert explained("unasked", "--audit-dir", receipts)["decision"] is None

    def test_that_the_gateway_refused_after_policy_has_both(self, receipts: Path) -> None:
        shown = screen("refused", "--audit-dir", receipts)
        assert "receipts could not be written" in shown
        assert "readonly/allow" in shown

    def test_that_there_is_none_of_is_an_error(self, receipts: Path) -> None:
        ended = run("policy", "explain", "nothing-of-this-id", "--audit-dir", receipts)
        assert ended.exit_code == 2
        assert "no receipt in" in ended.stderr
        assert run("policy", "explain", "x", "--audit-dir", receipts / "none").exit_code == 2

    def test_can_be_decided_again_by_eval(self, receipts: Path) -> None:
        found = run_json("policy", "eval", "denied", "--audit-dir", receipts, code=1)
        assert found["decision"]["verdict"] == "deny"
        assert run("policy", "eval", "unasked", "--audit-dir", receipts).exit_code == 1


def test_eval_shows_rules_that_nearly_fired_and_what_was_read() -> None:
    shown = run("policy", "eval", json.dumps(CALLS[0])).stdout
    assert "rules that one condition kept from firing:" in shown
    (made,) = re.findall(r"settings that made them fire:\n(.*?)\n\n", shown, re.DOTALL)
    assert re.search(r"bash/destructive +bash.destructive.rm is ", made)
    assert "bash.routine_verdict" not in made
    assert "bash.routine_verdict" in shown.partition("that are not why they fired:")[2]


async def test_a_configured_bundle_explains_as_it_was_kept(tmp_path: Path) -> None:
    bundle, config = tmp_path / "policy.tar.gz", tmp_path / "interlock.yaml"
    assert run("policy", "bundle", "build", "--profile", "strict", "--out", bundle).exit_code == 0
    config.write_text(json.dumps({"state": {"dir": str(tmp_path)}, "policy": {"bundle": {"url": str(bundle)}}}))
    ended = await asyncio.to_thread(run, "policy", "explain", json.dumps(CALLS[4]), "--config", config)
    assert ended.exit_code == 2
    assert "no gateway has loaded the configured bundle here yet" in ended.stderr
    settings = load_config(config, {})
    origin = open_policies(settings.policy, settings.policy_dir)
    await origin.look()
    loaded = await origin.load()
    await origin.activated()
    await origin.close()
    found = await asyncio.to_thread(explained, {"tool": LOOK, "input": {}}, "--config", config)
    assert found["policy"] == {"revision": loaded.revision, "profile": "strict"}


def test_what_the_call_was_given_is_shown() -> None:
    call = {"tool": {"name": "bash", "metadata": {"permission_class": "bash"}}, "input": {"command": "rm -rf /"}}
    shown = run("policy", "explain", json.dumps(call)).stdout
    assert "\ninput        rm -rf /\n" in shown
    assert "[]," not in shown
