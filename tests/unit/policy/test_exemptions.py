"""Exemptions: read strictly, looked up quickly, and reported while they are in force (POL-2)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.loader import read_bundle
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.standing import Standing, loaded_exemptions, warnings
from interlock_gateway.policy.trial import evaluate_once

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
GOOD: dict[str, Any] = {
    "id": "nightly",
    "rule": "bash/destructive",
    "scope": {"tools": ["bash"], "commands": ["kubectl delete"]},
    "reason": "test namespaces are taken down every night",
    "owner": "platform",
    "expires": "2026-12-31T00:00:00Z",
}
RULE = """package interlock.custom

# METADATA
# title: No agents
# description: Nobody calls.
findings contains {"verdict": "deny", "code": "no_agents", "message": "no agents", "rule": "custom/agents"} if {
	"agent" in input.principal.roles
}
"""


def overlay(tmp_path: Path, *entries: Any, name: str = "house") -> Path:
    root = tmp_path / name
    root.mkdir()
    (root / "data.yaml").write_text(yaml.safe_dump({"exemptions": list(entries)}), encoding="utf-8")
    return root


def exemptions_of(bundle: PolicyBundle) -> Any:
    return json.loads(bundle.data_json)["interlock"]["exemptions"]


@pytest.mark.req("POL-2")
def test_an_exemption_is_put_where_its_rule_finds_it(tmp_path: Path) -> None:
    everyones = {**GOOD, "id": "all", "rule": "file/*", "scope": {"roles": ["agent"]}, "becomes": "checkpoint"}
    for_two = {**GOOD, "id": "two", "scope": {"principals": ["a", "b"], "tools": ["bash"]}}
    found = exemptions_of(read_bundle(overlays=[overlay(tmp_path, GOOD, everyones, for_two)], now=NOW))
    assert found["by_rule"]["bash/destructive"] == {
        "commands": {"kubectl delete": ["nightly"]},
        "principals": {"a": ["two"], "b": ["two"]},
    }
    assert found["by_rule"]["file/protected"] == {"roles": {"agent": ["all"]}}
    assert "file/unknown" not in found["by_rule"]
    assert found["entries"]["nightly"] == {
        "rule": "bash/destructive",
        "scope": {"tools": {"bash": True}, "commands": {"kubectl delete": True}},
        "scope_text": '{"commands": ["kubectl delete"], "tools": ["bash"]}',
        "reason": "test namespaces are taken down every night",
        "owner": "platform",
        "becomes": "allow",
        "expires": "2026-12-31T00:00:00Z",
        "expires_unix_s": datetime(2026, 12, 31, tzinfo=UTC).timestamp(),
    }


@pytest.mark.req("POL-2")
def test_an_operators_own_rule_can_be_exempted_and_one_that_there_is_not_cannot(tmp_path: Path) -> None:
    entry = {**GOOD, "rule": "custom/agents", "scope": {"principals": ["agent-1"]}}
    root = overlay(tmp_path, entry)
    with pytest.raises(PolicySourceError, match="exemption nightly: there is no rule custom/agents"):
        read_bundle(overlays=[root], now=NOW)
    # The rule may come with another overlay, before or after.
    rules = tmp_path / "rules"
    (rules / "custom").mkdir(parents=True)
    (rules / "custom" / "agents.rego").write_text(RULE, encoding="utf-8")
    for order in ([root, rules], [rules, root]):
        assert "custom/agents" in exemptions_of(read_bundle(overlays=order, now=NOW))["by_rule"]


@pytest.mark.req("POL-2")
def test_a_scope_of_everything_has_to_be_said(tmp_path: Path) -> None:
    found = exemptions_of(read_bundle(overlays=[overlay(tmp_path, {**GOOD, "scope": "everything"})], now=NOW))
    assert found["entries"]["nightly"]["scope"] == {"everything": True}
    assert found["by_rule"]["bash/destructive"] == {"any": {"": ["nightly"]}}


BAD: dict[str, tuple[Any, str]] = {
    "no mapping": ("nightly", r"exemption 1: Input should be a valid dictionary"),
    "no id": ({**GOOD, "id": ""}, r"exemption 1: id: "),
    "an odd id": ({**GOOD, "id": "a b"}, r"exemption a b: id: "),
    "an unknown key": ({**GOOD, "until": "x"}, r"exemption nightly: unknown key until"),
    "an unknown verdict": (
        {**GOOD, "becomes": "deny"},
        r"exemption nightly: becomes: Input should be 'allow', 'preview'",
    ),
    "no such rule": ({**GOOD, "rule": "bash/destructiv"}, r"exemption nightly: there is no rule bash/destructiv"),
    "no such concern": ({**GOOD, "rule": "bsh/*"}, r"exemption nightly: there is no rule bsh/\* that can be exempted"),
    "every rule": ({**GOOD, "rule": "*"}, r"exemption nightly: rule: "),
    "a part of a rule": ({**GOOD, "rule": "bash/des*"}, r"exemption nightly: rule: "),
    "a changed definition": ({**GOOD, "rule": "pins/changed"}, r"nightly: pins/changed is never exempted: nobody has"),
    "a whole concern of such": ({**GOOD, "rule": "pins/*"}, r"nightly: there is no rule pins/\* that can be exempted"),
    "an unreadable script": ({**GOOD, "rule": "bash/unreadable"}, r"bash/unreadable is never exempted"),
    "contradictions": ({**GOOD, "rule": "interlock/obligations"}, r"interlock/obligations is never exempted"),
    "no scope": ({**GOOD, "scope": {}}, r"nightly: scope: covers every call; say `scope: everything`"),
    "another scope": ({**GOOD, "scope": "all"}, r"nightly: scope: must say whom and what it covers, or `everything`"),
    "null for a scope": ({**GOOD, "scope": None}, r"nightly: scope: must say whom and what it covers"),
    "an unknown matcher": ({**GOOD, "scope": {"colours": ["red"]}}, r"nightly: unknown key scope\.colours"),
    "an empty matcher": ({**GOOD, "scope": {"tools": []}}, r"nightly: scope\.tools: List should have at least 1 item"),
    "a word for a list": ({**GOOD, "scope": {"tools": "bash"}}, r"nightly: scope\.tools: Input should be a valid list"),
    "a number for a name": (
        {**GOOD, "scope": {"tools": [1]}},
        r"nightly: scope\.tools\.0: Input should be a valid string",
    ),
    "an empty name": ({**GOOD, "scope": {"tools": [" "]}}, r"nightly: scope\.tools\.0: "),
    "an unknown effect": ({**GOOD, "scope": {"effects": ["bad"]}}, r"nightly: scope\.effects\.0: "),
    "a URL for a domain": ({**GOOD, "scope": {"domains": ["https://x.org"]}}, r"nightly: scope\.domains\.0: "),
    "a pattern for a domain": ({**GOOD, "scope": {"domains": ["*.x.org"]}}, r"nightly: scope\.domains\.0: "),
    "a path to a command": ({**GOOD, "scope": {"commands": ["/bin/rm"]}}, r"nightly: scope\.commands\.0: "),
    "a command line": ({**GOOD, "scope": {"commands": ["rm -r x"]}}, r"nightly: scope\.commands\.0: "),
    "an absolute path": ({**GOOD, "scope": {"paths": ["/etc"]}}, r"nightly: scope\.paths\.0: must be a path below"),
    "a path that leads out": (
        {**GOOD, "scope": {"paths": ["a/../.."]}},
        r"nightly: scope\.paths\.0: must be a path below",
    ),
    "the workspace itself": ({**GOOD, "scope": {"paths": ["."]}}, r"nightly: scope\.paths\.0: must be a path below"),
    "no label values": ({**GOOD, "scope": {"session_labels": {"env": []}}}, r"nightly: scope\.session_labels\.env: "),
    "no reason": ({**GOOD, "reason": " "}, r"nightly: reason: "),
    "a reason of two lines": ({**GOOD, "reason": "a\nb"}, r"nightly: reason: must be one line"),
    "a missing reason": (
        {name: value for name, value in GOOD.items() if name != "reason"},
        r"nightly: reason is missing",
    ),
    "a missing owner": ({name: value for name, value in GOOD.items() if name != "owner"}, r"nightly: owner is missing"),
    "a missing end": (
        {name: value for name, value in GOOD.items() if name != "expires"},
        r"nightly: expires is missing",
    ),
    "a missing scope": ({name: value for name, value in GOOD.items() if name != "scope"}, r"nightly: scope is missing"),
    "an end without a time": ({**GOOD, "expires": "2026-12-31"}, r"nightly: expires must be a time with its zone"),
    "an end without a zone": (
        {**GOOD, "expires": "2026-12-31T00:00:00"},
        r"nightly: expires must be a time with its zone",
    ),
    "an end that is no day": ({**GOOD, "expires": "2026-13-31T00:00:00Z"}, r"nightly: month must be in 1\.\.12"),
    "an end too far ahead": (
        {**GOOD, "expires": "2027-06-03T00:00:00Z"},
        r"nightly: expires is more than 366 days ahead",
    ),
}


@pytest.mark.req("POL-2")
@pytest.mark.parametrize("what", BAD)
def test_a_bad_exemption_refuses_the_whole_load_and_names_file_and_entry(tmp_path: Path, what: str) -> None:
    entry, problem = BAD[what]
    root = overlay(tmp_path, entry)
    with pytest.raises(PolicySourceError, match=problem) as refused:
        read_bundle(overlays=[root], now=NOW)
    file, line = refused.value.file_and_line
    assert (file, line > 0) == (str(root / "data.yaml"), True)


@pytest.mark.req("POL-2")
def test_two_exemptions_of_one_id_are_refused(tmp_path: Path) -> None:
    first, second = overlay(tmp_path, GOOD), overlay(tmp_path, GOOD, name="other")
    with pytest.raises(
        PolicySourceError, match=r"other/data\.yaml:2: exemption nightly: there is another one of this id"
    ):
        read_bundle(overlays=[first, second], now=NOW)
    (first / "data.yaml").write_text("exemptions: {a: b}\n", encoding="utf-8")
    with pytest.raises(PolicySourceError, match="exemptions must be a list"):
        read_bundle(overlays=[first], now=NOW)


@pytest.mark.req("POL-2")
def test_so_many_that_decisions_would_have_to_try_each_are_refused() -> None:
    many: list[Any] = [
        {**GOOD, "id": f"e{number}", "scope": {"domains": [f"d{number}.example"]}} for number in range(500)
    ]
    read_bundle(exemptions=many)
    alike: list[Any] = [{**entry, "scope": {"session_labels": {"env": ["dev"]}}} for entry in many[:101]]
    read_bundle(exemptions=alike[:100])
    with pytest.raises(PolicySourceError, match=r"exemption e100: more than 100 of bash/destructive are of any call"):
        read_bundle(exemptions=alike)
    same: list[Any] = [{**entry, "scope": {"commands": ["kubectl"], "tools": ["bash"]}} for entry in many[:101]]
    with pytest.raises(PolicySourceError, match=r"are of the same commands, kubectl"):
        read_bundle(exemptions=same)


@pytest.mark.req("POL-2")
def test_one_that_has_ended_is_no_error_and_has_no_effect(tmp_path: Path) -> None:
    ended = {**GOOD, "rule": "bash/other", "scope": "everything", "expires": "2026-05-31T23:59:59Z"}
    bundle = read_bundle(overlays=[overlay(tmp_path, ended)], now=NOW)
    (case,) = (one for one in load_cases(CASES) if one.name == "exemptions/an_exemption_that_has_ended_changes_nothing")
    call = json.loads(case.input_json)
    call["call"]["time_unix_s"] = NOW
    assert json.loads(evaluate_once(bundle, json.dumps(call).encode()))["verdict"] == "checkpoint"
    call["call"]["time_unix_s"] = NOW - 2
    assert json.loads(evaluate_once(bundle, json.dumps(call).encode()))["verdict"] == "allow"


CASES = Path(__file__).parents[2] / "cases"


@pytest.mark.req("POL-2")
def test_which_are_in_force_expire_soon_or_have_ended_can_be_told(tmp_path: Path) -> None:
    entries = [
        {**GOOD, "id": "far", "expires": "2026-07-02T00:00:00Z"},
        {**GOOD, "id": "soon", "expires": "2026-07-01T00:00:00Z", "scope": "everything"},
        {**GOOD, "id": "now", "expires": "2026-06-01T02:00:00+02:00", "scope": {"session_labels": {"env": ["dev"]}}},
    ]
    bundle = read_bundle(overlays=[overlay(tmp_path, *entries)], now=NOW)
    standing = loaded_exemptions(bundle)
    assert [(one.id, one.standing(NOW)) for one in standing] == [
        ("now", Standing.EXPIRED),
        ("soon", Standing.EXPIRING),
        ("far", Standing.IN_FORCE),
    ]
    assert [one.scope for one in standing] == [
        {"session_labels": {"env": ["dev"]}},
        "everything",
        {"commands": ["kubectl delete"], "tools": ["bash"]},
    ]
    assert standing[0].expires == "2026-06-01T00:00:00Z"
    assert [(one.code, one.message) for one in warnings(standing, NOW)] == [
        (
            "exemption_expired",
            "exemption now (platform) of bash/destructive ended at 2026-06-01T00:00:00Z and has no effect; take it out",
        ),
        (
            "exemption_expiring",
            "exemption soon (platform) of bash/destructive ends at 2026-07-01T00:00:00Z, in 30 days",
        ),
    ]
    assert loaded_exemptions(read_bundle()) == ()


@pytest.mark.req("POL-2")
def test_the_revision_names_the_exemptions_and_not_the_time_of_loading(tmp_path: Path) -> None:
    root = overlay(tmp_path, GOOD)
    first = read_bundle(overlays=[root], now=NOW)
    assert read_bundle(overlays=[root], now=NOW + 400 * 86_400).revision == first.revision
    assert (
        read_bundle(overlays=[overlay(tmp_path, {**GOOD, "owner": "others"}, name="b")], now=NOW).revision
        != first.revision
    )
