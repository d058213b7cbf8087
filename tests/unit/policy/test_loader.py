"""Policies from disk: overlays, settings, profiles, and the revision that names the whole."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.policy.loader import load_bundle, read_bundle, shipped_policies
from interlock_gateway.policy.settings import PolicySourceError, override
from interlock_gateway.policy.trial import evaluate_once

RULE = """package interlock.custom

findings contains {"verdict": "deny", "code": "no_agents", "message": "no agents", "rule": "custom/agents"} if {
	"agent" in input.principal.roles
}
"""


def overlay(tmp_path: Path, *, data: str = "", rule: str = "", name: str = "house") -> Path:
    root = tmp_path / name
    (root / "custom").mkdir(parents=True)
    if data:
        (root / "data.yaml").write_text(data, encoding="utf-8")
    if rule:
        (root / "custom" / "agents.rego").write_text(rule, encoding="utf-8")
    return root


def settings_of(bundle_json: str) -> Any:
    return json.loads(bundle_json)["interlock"]["settings"]


def test_the_shipped_policies_are_found() -> None:
    assert (shipped_policies() / "main.rego").is_file()
    assert load_bundle().profile == "standard"


def test_the_revision_changes_with_sources_and_settings_and_with_nothing_else(tmp_path: Path) -> None:
    plain = read_bundle()
    assert read_bundle().revision == plain.revision
    ruled = read_bundle(overlays=[overlay(tmp_path, rule=RULE)])
    assert ruled.revision != plain.revision
    with_limit = read_bundle(changes={"results": {"max_bytes_by_tool": {"x": 1}}})
    assert with_limit.revision not in {plain.revision, ruled.revision}
    with_test = overlay(tmp_path, name="tested", data="settings: {}")
    (with_test / "custom" / "agents_test.rego").write_text("package interlock.custom_test\n", encoding="utf-8")
    assert read_bundle(overlays=[with_test]).revision == plain.revision


@pytest.mark.req("POL-2")
def test_an_overlays_rule_decides_beside_the_shipped_ones(tmp_path: Path) -> None:
    bundle = load_bundle(overlays=[overlay(tmp_path, rule=RULE)])
    decision = json.loads(evaluate_once(bundle, b'{"principal": {"roles": ["agent"]}}'))
    assert "no_agents" in {reason["code"] for reason in decision["reasons"]}


@pytest.mark.req("POL-2")
def test_an_overlays_settings_replace_lists_and_values_and_join_mappings(tmp_path: Path) -> None:
    data = """
settings:
  generic: {unguarded_change: checkpoint}
  bash:
    denied_hazards: [dynamic_script, invisible_characters, alias]
    destructive: {wipe: {}, rm: {}}
    read_only: {ls: null}
"""
    settings = settings_of(read_bundle(overlays=[overlay(tmp_path, data=data)]).data_json)
    assert settings["generic"]["unguarded_change"] == "checkpoint"
    assert settings["bash"]["denied_hazards"] == ["dynamic_script", "invisible_characters", "alias"]
    assert settings["bash"]["destructive"]["wipe"] == settings["bash"]["destructive"]["rm"] == {}
    assert "shred" in settings["bash"]["destructive"]
    assert "ls" not in settings["bash"]["read_only"]


@pytest.mark.req("LIFE-1", "POL-2")
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("settings: {bsh: {}}", r"unknown setting bsh; did you mean bash\?"),
        ("settings: {bash: {destructiv: {}}}", r"unknown setting bash\.destructiv; did you mean destructive\?"),
        ("settings: {bash: {destructive: [rm]}}", r"bash\.destructive must be a mapping, not a list"),
        ("settings: {file: {ask_for_dot_files: 1}}", r"must be a boolean, not a number"),
        ("settings: [bash]", r"must be a mapping of concerns"),
        ("rules: {}", r"unknown key rules"),
        ("- a", r"must be a mapping"),
        (
            "settings: {confidence: {minimum_by_role: {no: 50}}}",
            r"the key no is read as False, which is not a string; put",
        ),
        ("settings: {confidence: {minimum_by_role: {a: 2026-01-01}}}", r"is not a JSON value; put it in quotes"),
        ("settings: {results: {max_bytes_by_tool: {a: .inf}}}", r"inf is not a JSON value; put it in quotes"),
        ("settings: {a: b: c}", r"data\.yaml:1: is not valid YAML"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, data: str, problem: str) -> None:
    with pytest.raises(PolicySourceError, match=problem):
        read_bundle(overlays=[overlay(tmp_path, data=data)])


@pytest.mark.req("POL-2")
@pytest.mark.parametrize("package", ["interlock", "interlock.rules", "interlock.customs", "other"])
def test_an_overlay_stays_in_its_own_package(tmp_path: Path, package: str) -> None:
    rule = RULE.replace("interlock.custom", package)
    with pytest.raises(PolicySourceError, match=r"agents\.rego: .*are in package interlock\.custom"):
        read_bundle(overlays=[overlay(tmp_path, rule=rule)])


def test_an_overlays_rules_stay_in_their_directory(tmp_path: Path) -> None:
    root = overlay(tmp_path)
    (root / "agents.rego").write_text(RULE, encoding="utf-8")
    with pytest.raises(PolicySourceError, match=r"belong in its directory custom/"):
        read_bundle(overlays=[root])


@pytest.mark.parametrize(
    "name",
    ["data.yml", "data.json", "Data.yaml", "settings.yaml", "exemptions.yml", "settings/bash/data.yaml",
     "custom/data.yaml", "custom/agents.rgo", "custom/agents.REGO", "custom/settings.json", "agents.rgo"],
)  # fmt: skip
def test_what_looks_like_a_part_of_an_overlay_and_is_not_read_is_refused(tmp_path: Path, name: str) -> None:
    root = overlay(tmp_path, rule=RULE)
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("", encoding="utf-8")
    with pytest.raises(PolicySourceError, match=rf"house/{re.escape(name)}: is not read: an overlay is its data\.yaml"):
        read_bundle(overlays=[root])


@pytest.mark.parametrize(
    "name", ["README.md", "custom/notes.txt", "cases/sql/drop.yaml", "package.json", ".git/data.yaml", "custom/a.rego~"]
)
def test_what_lies_beside_an_overlay_harms_nobody(tmp_path: Path, name: str) -> None:
    root = overlay(tmp_path, rule=RULE)
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("", encoding="utf-8")
    assert read_bundle(overlays=[root]).modules


def test_every_file_that_is_not_read_is_named(tmp_path: Path) -> None:
    root = overlay(tmp_path, rule=RULE)
    for name in ("data.yml", "data.json"):
        (root / name).write_text("settings: {}", encoding="utf-8")
    with pytest.raises(PolicySourceError, match=r"data\.json: is not read; nor is data\.yml: "):
        read_bundle(overlays=[root])


def test_rules_that_are_mounted_as_a_link_are_looked_at_too(tmp_path: Path) -> None:
    root = overlay(tmp_path, data="settings: {}")
    (root / "custom").rmdir()
    kept = root / "..data" / "custom"
    kept.mkdir(parents=True)
    (kept / "agents.rgo").write_text(RULE, encoding="utf-8")
    (root / "custom").symlink_to("..data/custom")
    with pytest.raises(PolicySourceError, match=r"custom/agents\.rgo: is not read"):
        read_bundle(overlays=[root])


def test_an_overlay_that_says_nothing_is_refused_unless_it_says_so(tmp_path: Path) -> None:
    root = overlay(tmp_path)
    for data in ("", "# to come\n"):
        (root / "data.yaml").write_text(data, encoding="utf-8")
        with pytest.raises(PolicySourceError, match="house: is an overlay that says nothing"):
            read_bundle(overlays=[root])
    (root / "custom" / "agents_test.rego").write_text("package interlock.custom\n", encoding="utf-8")
    with pytest.raises(PolicySourceError, match="house: is an overlay that says nothing"):
        read_bundle(overlays=[root])
    (root / "data.yaml").write_text("settings: {}\n", encoding="utf-8")
    assert read_bundle(overlays=[root]).revision == read_bundle().revision


def test_a_rule_without_a_package_is_no_rego_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PolicySourceError, match=r"agents\.rego:1: is not valid Rego: it does not begin with `package"):
        read_bundle(overlays=[overlay(tmp_path, rule="findings contains if\n")])


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicySourceError, match="is not a directory"):
        read_bundle(overlays=[tmp_path / "nowhere"])
    with pytest.raises(PolicySourceError, match="is not a directory of policies"):
        read_bundle(directory=tmp_path / "nowhere")
    with pytest.raises(PolicySourceError, match="has no profile lenient; it has observe, standard, strict"):
        read_bundle(profile="lenient")


def test_overlays_apply_in_order(tmp_path: Path) -> None:
    first = overlay(tmp_path, data="settings: {generic: {unguarded_change: checkpoint}}", name="first")
    second = overlay(tmp_path, data="settings: {generic: {unguarded_change: deny}}", name="second")
    settings = settings_of(read_bundle(overlays=[first, second]).data_json)
    assert settings["generic"]["unguarded_change"] == "deny"
    with pytest.raises(PolicySourceError, match=r"first/data\.yaml:1: generic\.unguarded_change: changes deny"):
        read_bundle(overlays=[second, first])


def test_two_overlays_may_not_hold_the_same_file(tmp_path: Path) -> None:
    one = overlay(tmp_path / "a", rule=RULE)
    other = overlay(tmp_path / "b", rule=RULE)
    with pytest.raises(PolicySourceError, match="another overlay has a file of this name"):
        read_bundle(overlays=[one, other])


def test_overriding_leaves_the_settings_it_is_given_alone() -> None:
    settings: JsonObject = {"a": {"m": {"x": 1}, "v": 1}}
    assert override(settings, {"a": {"m": {"y": 2}}}, "place") == {"a": {"m": {"x": 1, "y": 2}, "v": 1}}
    assert settings == {"a": {"m": {"x": 1}, "v": 1}}


def test_settings_nested_without_end_are_refused_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text("settings: " + "[" * 100_000, encoding="utf-8")
    with pytest.raises(PolicySourceError, match=r"data\.yaml: is nested too deeply"):
        read_bundle(overlays=[tmp_path])
