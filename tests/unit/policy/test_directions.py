"""Overlays only tighten: which change of a setting loosens is data beside it, and such a change is refused (POL-2)."""

from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.policy.direction_files import read_directions
from interlock_gateway.policy.directions import Direction, refuse_looser
from interlock_gateway.policy.loader import read_bundle, read_settings, shipped_policies
from interlock_gateway.policy.settings import PolicySourceError

PROFILES = ("observe", "standard", "strict")


def direction(tmp_path: Path, written: str) -> Direction:
    """The direction of the one setting `a.b`."""
    place = tmp_path / "settings" / "a"
    place.mkdir(parents=True)
    (place / "directions.yaml").write_text(f"b: {written}\n", encoding="utf-8")
    return read_directions(tmp_path)["a"]["b"]


@pytest.mark.req("POL-2")
def test_every_setting_has_a_direction_and_every_direction_a_setting() -> None:
    settings = read_settings("standard")
    directions = read_directions(shipped_policies())
    named = {(concern, name) for concern, values in directions.items() for name in values}
    assert named == {(concern, name) for concern, values in settings.items() for name in values}


@pytest.mark.req("POL-2")
@pytest.mark.parametrize("profile", PROFILES)
def test_what_ships_can_be_compared(profile: str) -> None:
    directions = read_directions(shipped_policies())
    for concern, values in read_settings(profile).items():
        for name, value in values.items():
            assert directions[concern][name].odd(value) is None, f"{concern}.{name}"
            assert directions[concern][name].looser(value, value) is None, f"{concern}.{name}"


@pytest.mark.parametrize("setting", ["read_only", "routine"])
def test_the_lines_that_hold_beside_others_are_kept(setting: str) -> None:
    listed: Any = read_settings("standard")["bash"][setting]
    kept: Any = read_directions(shipped_policies())["bash"][setting]
    assert set(kept.keep) == {name for name in listed if name.endswith(" *")}
    # A program's own line comes before those of its subcommands: to take it away would bring these to bear.
    assert [name for name in listed if " " in name and name.split(" ")[0] in listed] == []


@pytest.mark.req("POL-2")
@pytest.mark.parametrize(
    ("written", "before", "stricter", "looser"),
    [
        ("more", ["a"], [["a", "b"], ["b", "a"]], [[], ["b"]]),
        ("fewer", ["a", "b"], [["a"], []], [["a", "b", "c"], ["c"]]),
        ("more", {"a": {"x": 1}}, [{"a": {"x": 1}, "b": {}}], [{}, {"a": {"x": 2}}, {"b": {}}]),
        ("fewer", {"a": {"x": 1}, "b": 1}, [{"a": {"x": 1}}, {}], [{"a": {"x": 2}}, {"a": {"x": 1}, "c": 1}]),
        ("greater", 5, [5, 6, 5.5], [4, -5]),
        ("less", 5, [5, 4, 0], [6, 5.1]),
        ("true", False, [True], []),
        ("true", True, [], [False]),
        ("false", True, [False], []),
        ("false", False, [], [True]),
        ("{words: [weak, middling, strong]}", "middling", ["middling", "strong"], ["weak"]),
        ("{more: greater}", {"a": 5}, [{"a": 5, "b": 1}, {"a": 6}], [{"a": 4}, {}, {"b": 9}]),
        ("{more: less}", {"a": 5}, [{"a": 4}, {"a": 5, "b": 9}], [{"a": 6}, {}]),
        (
            "{more: {more: greater}}",
            {"e": {"p": 5}},
            [{"e": {"p": 5, "q": 1}}, {"e": {"p": 5}, "f": {}}],
            [{"e": {"q": 9}}],
        ),
        ("{more: true}", {"a": True}, [{"a": True, "b": True}, {"a": True, "b": False}], [{"a": False}, {}]),
        ("{fewer: true}", {"a": True}, [{"a": False}, {}], [{"a": True, "b": True}]),
        ("{fewer: greater, keep: [a]}", {"a": 5, "b": 5}, [{"a": 5}, {"a": 6, "b": 5}], [{"b": 5}, {"a": 4}, {}]),
        (
            "{more: {any_of: {flags: more, operands: more}}}",
            {"rm": {"flags": ["-r"]}, "dd": {}},
            [
                {"rm": {}, "dd": {}},
                {"rm": {"flags": ["-r", "-f"]}, "dd": {}},
                {"rm": {"flags": ["-r"], "operands": ["/"]}, "dd": {}, "mv": {"flags": ["-f"]}},
            ],
            [
                {"rm": {"flags": []}, "dd": {}},
                {"rm": {"operands": ["/"]}, "dd": {}},
                {"rm": {"flags": ["-r"]}, "dd": {"flags": ["-x"]}},
                {"rm": {"flags": ["-r"]}},
            ],
        ),
        (
            "{fewer: {all_of: {except: more, only: fewer, most: less}}}",
            {"ls": {"except": ["-x"]}, "git": {"only": ["-a", "-b"], "most": 2}},
            [
                {"ls": {"except": ["-x", "-y"]}},
                {"ls": {"except": ["-x"], "only": ["-l"]}, "git": {"only": ["-a"], "most": 1}},
                {},
            ],
            [
                {"ls": {}},
                {"git": {"only": ["-a", "-b", "-c"], "most": 2}},
                {"git": {"only": ["-a", "-b"]}},
                {"git": {"only": ["-a", "-b"], "most": 3}},
                {"cat": {}},
            ],
        ),
        (
            "{all_of: {only: fewer}, widened_by: {free_with: fewer}}",
            {"free_with": ["-a", "-b"]},
            [{"free_with": ["-a"]}, {}, {"only": [], "free_with": []}],
            [{"free_with": ["-a", "-b", "-c"]}],
        ),
        ("{all_of: {only: fewer}, widened_by: {free_with: fewer}}", {}, [{"only": []}], [{"free_with": ["-a"]}]),
        ("{free: it is all the same}", "a", ["b", 1, {}], []),
        ("{fixed: nobody can tell}", "a", [], ["b", 1, {}]),
        (
            "{more: {fixed: add another, fields: {verdict: {words: [checkpoint, deny]}}}}",
            {"a": {"verdict": "deny"}},
            [{"a": {"verdict": "deny"}, "b": {"verdict": "checkpoint"}, "c": {"x": 1}}],
            [{"a": {"verdict": "checkpoint"}}, {}],
        ),
    ],
)
def test_a_change_is_compared_by_its_direction(
    tmp_path: Path, written: str, before: Any, stricter: list[Any], looser: list[Any]
) -> None:
    compared = direction(tmp_path, written)
    assert compared.odd(before) is None
    for after in stricter:
        assert (compared.odd(after), compared.looser(before, after)) == (None, None), after
    for after in looser:
        assert compared.odd(after) is None, after
        assert compared.looser(before, after), after


@pytest.mark.req("POL-2")
@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("more", ["a", 1, None, True, [1], [["a"]]]),
        ("{more: greater}", [["a"], {"a": "5"}, {"a": True}, {"a": None}, {"a": float("nan")}]),
        ("{more: {more: greater}}", [{"a": 5}, {"a": {"b": []}}]),
        ("less", ["5", True, None, float("inf")]),
        ("true", [1, "true", None]),
        ("{words: [weak, strong]}", ["Strong", "", None, 1, ["weak"]]),
        (
            "{more: {any_of: {flags: more}}}",
            [{"a": []}, {"a": {"flag": []}}, {"a": {"flags": None}}, {"a": {"flags": [1]}}],
        ),
    ],
)
def test_a_value_that_cannot_be_compared_is_odd(tmp_path: Path, written: str, values: list[Any]) -> None:
    compared = direction(tmp_path, written)
    assert [value for value in values if compared.odd(value) is None] == []


@pytest.mark.parametrize(
    "written",
    [
        "mor", "1", "[more]", "{}", "{more: more, less: more}", "{words: more}", "{words: [1]}", "{free: ''}",
        "{fixed: 1}", "{any_of: more}", "{any_of: {flags: most}}", "{more: {keep: [a]}}", "{fewer: true, keep: a}",
        "{fixed: so, keep: [a]}",
        "{more: true, closed_while: a}", "{fewer: true, closed_while: {a: b}}",
        "{fixed: so, fields: [a]}", "{words: [a], fields: {}}",
    ],
)  # fmt: skip
def test_a_direction_that_makes_no_sense_is_refused(tmp_path: Path, written: str) -> None:
    with pytest.raises(PolicySourceError, match=r"^settings/a/directions\.yaml, b: "):
        direction(tmp_path, written)


@pytest.mark.req("POL-2")
def test_a_setting_without_a_direction_is_not_changed() -> None:
    refuse_looser({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 2}}, {}, "data.yaml")
    with pytest.raises(PolicySourceError, match=r"^data\.yaml: a\.c: nobody has said which way it gets stricter"):
        refuse_looser({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {}}, "data.yaml")


@pytest.mark.req("POL-2")
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("bash: {destructive: {rm: null}}", r"bash\.destructive: takes rm away; an overlay may only make"),
        ("bash: {destructive: {kill: {flags: ['-9']}}}", r"bash\.destructive: kill: held always"),
        ("bash: {read_only: {docker ps: {}}}", r"bash\.read_only: adds docker ps; .* named under `exemptions:`"),
        ("bash: {read_only: {git *: null}}", r"bash\.read_only: takes git \* away"),
        ("bash: {denied_hazards: []}", r"bash\.denied_hazards: takes dynamic_script, invisible_characters away"),
        ("facts: {needless_classes: ['', readonly, generic, bash]}", r"facts\.needless_classes: adds bash"),
        ("file: {secret_names: {.env: false}}", r"file\.secret_names: takes \.env away"),
        ("file: {public_names: {.env.local: true}}", r"file\.public_names: adds \.env\.local"),
        ("generic: {owned_classes: []}", r"generic\.owned_classes: no overlay changes it: what a class's own rules"),
        ("undo: {recorded: none}", r"undo\.recorded: none is none of allow, checkpoint, deny$"),
        ("results: {max_bytes_by_tool: {x: many}}", r"results\.max_bytes_by_tool: x: many is not a number$"),
    ],
)
def test_an_overlay_that_loosens_is_refused_by_file_and_setting(tmp_path: Path, settings: str, problem: str) -> None:
    (tmp_path / "data.yaml").write_text(f"settings: {{{settings}}}\n", encoding="utf-8")
    with pytest.raises(PolicySourceError, match=rf"^{tmp_path}/data\.yaml:1: {problem}"):
        read_bundle(overlays=[tmp_path])


@pytest.mark.req("POL-2", "POL-5")
def test_what_an_overlay_says_is_compared_with_the_profile_it_goes_on_top_of(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text("settings: {generic: {unguarded_change: allow}}\n", encoding="utf-8")
    read_bundle(overlays=[tmp_path])
    with pytest.raises(PolicySourceError, match=r"generic\.unguarded_change: changes checkpoint to allow"):
        read_bundle(profile="strict", overlays=[tmp_path])


@pytest.mark.req("POL-2")
def test_a_list_of_what_is_asked_about_takes_no_entry_where_all_others_are_denied(tmp_path: Path) -> None:
    adding, before = tmp_path / "adding", tmp_path / "before"
    for overlay, said in ((adding, "changing_functions: {app.purge: true}"), (before, "unknown_functions: deny")):
        overlay.mkdir()
        (overlay / "data.yaml").write_text(f"settings: {{sql: {{{said}}}}}\n", encoding="utf-8")
    read_bundle(overlays=[adding, before])
    stricter = r"sql\.changing_functions: adds app\.purge, about which unknown_functions: deny is stricter; an overlay"
    with pytest.raises(PolicySourceError, match=stricter):
        read_bundle(profile="strict", overlays=[adding])
    with pytest.raises(PolicySourceError, match=stricter):
        read_bundle(overlays=[before, adding])
