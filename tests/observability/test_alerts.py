"""Alerts: they fire and keep quiet as they should, ask for what there is, and say what to do (OBS-3, CON-4)."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from alert_rules import (
    CASES,
    ROOT,
    RULES,
    RUNBOOKS,
    SEVERITIES,
    Alert,
    alerts,
    cases,
    expressions,
    groups,
    names_in,
    recorded,
)
from dashboard_json import DASHBOARD
from interlock_gateway.config_loader.shape import config_shape
from metrics_in_code import metrics_in_code
from operations_document import settings_in

PARTS = ("What it means", "What users see", "Look", "Do", "Do not")
HEADING = re.compile(r"^## (?P<title>\w+)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def promtool(program: Callable[[str], Path], *arguments: str) -> str:
    """What promtool says, once it agrees."""
    command = [str(program("promtool")), *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def is_ours(manifest: dict[str, Any]) -> bool:
    """Whether a manifest holds rules or the dashboard."""
    return manifest["kind"] == "PrometheusRule" or "interlock.json" in (manifest.get("data") or {})


@pytest.mark.req("CON-4", "OBS-3")
def test_promtool_accepts_the_rules(program: Callable[[str], Path]) -> None:
    assert "SUCCESS" in promtool(program, "check", "rules", str(RULES))


@pytest.mark.req("OBS-3", "K8S-2")
def test_the_chart_hands_the_very_rules_and_the_very_dashboard_on(program: Callable[[str], Path]) -> None:
    chart = [str(program("helm")), "template", "here", "helm/interlock", "--kube-version", "1.34.0"]
    chosen = ["--values", "helm/interlock/ci/service-postgresql.yaml", "--set", "metrics.dashboard.enabled=true"]
    ran = subprocess.run([*chart, *chosen], cwd=ROOT, capture_output=True, text=True, check=True)
    made = {one["kind"]: one for one in yaml.safe_load_all(ran.stdout) if one and is_ours(one)}
    assert made["PrometheusRule"]["spec"]["groups"] == groups()
    assert json.loads(made["ConfigMap"]["data"]["interlock.json"]) == json.loads(DASHBOARD.read_text(encoding="utf-8"))


@pytest.mark.req("CON-4", "OBS-3")
def test_every_case_comes_out_as_it_says(program: Callable[[str], Path]) -> None:
    promtool(program, "test", "rules", *map(str, sorted(CASES.glob("*.yaml"))))


@pytest.mark.req("OBS-3")
def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    played = cases()
    for fires in (True, False):
        assert {case.alert for case in played if case.fires is fires} == {alert.name for alert in alerts()}
    assert all(case.name.startswith(f"{case.alert} {'fires' if case.fires else 'does not fire'} ") for case in played)


@pytest.mark.req("OBS-3")
def test_a_case_in_which_an_alert_keeps_quiet_has_the_series_that_it_asks_for() -> None:
    for case in cases():
        wanted = {name for alert in alerts() if alert.name == case.alert for name in names_in(alert.expression)}
        assert wanted <= {*case.series, *recorded()}, case.name


@pytest.mark.req("OBS-3")
def test_rules_ask_for_metrics_that_there_are() -> None:
    there = {name for metric in metrics_in_code() for name in metric.series} | recorded()
    asked = {name for expression in expressions() for name in names_in(expression)}
    assert asked <= there


@pytest.mark.req("OBS-3")
@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_says_what_it_is_and_names_no_place_that_its_readers_may_not_have(alert: Alert) -> None:
    assert alert.severity in SEVERITIES
    assert alert.annotations.keys() == {"summary", "description"}
    assert all(text.endswith(".") for text in alert.annotations.values())


@pytest.mark.req("OBS-3")
def test_every_alert_has_a_runbook_with_all_its_parts_and_every_runbook_an_alert() -> None:
    found = {heading["title"]: heading["text"] for heading in HEADING.finditer(RUNBOOKS.read_text(encoding="utf-8"))}
    assert list(found) == [alert.name for alert in alerts()]
    for name, text in found.items():
        assert re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE) == list(PARTS), name


@pytest.mark.req("OBS-3")
def test_runbooks_name_metrics_that_there_are() -> None:
    there = {name for metric in metrics_in_code() for name in (*metric.series, metric.shown)} | recorded()
    named = set(re.findall(r"\binterlock_[a-z_]+", RUNBOOKS.read_text(encoding="utf-8"))) - {"interlock_gateway"}
    assert named <= there


@pytest.mark.req("OBS-3")
def test_runbooks_name_commands_and_settings_that_there_are() -> None:
    text = RUNBOOKS.read_text(encoding="utf-8")
    commands = re.findall(r"^#+ interlock (.+)$", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    for words in re.findall(r"`interlock ([a-z][a-z -]*?)(?:`| [A-Z]| -)", text):
        assert words in commands, words
    settings = {name for name, _ in settings_in("", config_shape())}
    for key in re.findall(r"`((?:server|policy|state|limits|audit|tracing|metrics)\.[a-z_.]+)`", text):
        assert key in settings, key


@pytest.mark.req("OBS-3")
def test_what_wakes_people_is_listed_where_alerts_are_told_about() -> None:
    told = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    table = told.partition("| page | when |\n")[2].partition("\n\n")[0]
    names = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert names == {alert.name for alert in alerts() if alert.severity == "page"}
