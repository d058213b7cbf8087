"""The dashboard, and the alerts, on what a real Prometheus scraped from a real run of the demo (OBS-1, OBS-3)."""

import asyncio
import json
import re
import subprocess
import urllib.request
from collections.abc import AsyncIterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import pytest_asyncio
from dashboard_json import COLUMNS, DASHBOARD, VARIABLES, dashboard, text
from dashboard_panels import ROWS, panels
from dashboard_picture import PICTURE, picture
from metrics_in_code import metrics_in_code
from observed_run import Observed, observed
from waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")
AGAIN = "run python tests/observability/dashboard_json.py"
ASKED = re.compile(r"\binterlock_[a-z_]+")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(program: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Observed]:
    """One run for all tests: it takes as long as the demonstration does."""
    async with observed(program("prometheus"), tmp_path_factory.mktemp("o"), scrape_s=0.5) as seen:
        yield seen


def objections(promtool: Path, url: str) -> bytes:
    """What promtool has against the metrics at an address."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        ran = subprocess.run([promtool, "check", "metrics"], input=answer.read(), capture_output=True, check=False)
    return bytes(ran.stdout + ran.stderr)


def values(run: Observed, expression: str, *, instant: bool) -> list[str]:
    """What a query gives: at the end, or at any time of the run, as its panel asks."""
    asked = run.asked(expression)
    if instant:
        return [line["value"][1] for line in run.prometheus.query(asked, run.ended)]
    matrix = run.prometheus.query_range(asked, run.began, run.ended, 1.0)
    return [value for line in matrix for _, value in line["values"]]


def shown() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


@pytest.mark.req("OBS-3")
async def test_the_committed_dashboard_is_what_the_panels_say() -> None:
    assert DASHBOARD.read_text(encoding="utf-8") == text(), AGAIN


@pytest.mark.req("OBS-3")
async def test_it_is_one_that_grafana_imports() -> None:
    made = json.loads(text())
    numbers = [panel["id"] for panel in made["panels"]]
    assert sorted(set(numbers)) == sorted(numbers)
    assert [one["name"] for one in made["templating"]["list"]] == ["datasource", *VARIABLES]
    for panel in shown():
        assert {
            "id",
            "type",
            "title",
            "description",
            "datasource",
            "gridPos",
            "targets",
            "fieldConfig",
            "options",
        } <= set(panel)
        assert panel["type"] in {"timeseries", "stat", "bargauge"}
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])
        assert all(target["instant"] is not target["range"] for target in panel["targets"])


@pytest.mark.req("OBS-3")
async def test_no_panel_lies_on_another_or_beyond_the_edge() -> None:
    for one, other in combinations([panel["gridPos"] for panel in dashboard()["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= COLUMNS for panel in dashboard()["panels"])


@pytest.mark.req("OBS-3")
async def test_panels_ask_for_metrics_that_there_are_and_for_the_chosen_gateways_alone() -> None:
    there = {name for metric in metrics_in_code() for name in metric.series}
    titles = [panel.title for panel in panels()]
    assert len(set(titles)) == len(titles)
    for query in (query for panel in panels() for query in panel.queries):
        names = ASKED.findall(query.expression)
        assert set(names) <= there
        assert all(query.expression.count(f'{name}=~"${name}"') == len(names) for name in VARIABLES), query.expression
        assert set(re.findall(r"\$\w+", query.expression)) <= {
            "$__rate_interval",
            "$__range",
            *(f"${n}" for n in VARIABLES),
        }


@pytest.mark.req("OBS-3")
async def test_the_picture_shows_every_panel(run: Observed) -> None:
    for drawn in (PICTURE.read_text(encoding="utf-8"), picture(run)):
        words = {one.text for one in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
        assert words >= {panel.title for panel in panels()} | {row.title for row in ROWS}, "run make picture"


@pytest.mark.req("OBS-3")
async def test_every_query_of_every_panel_has_data_after_the_demonstration(run: Observed) -> None:
    empty = [
        f"{row.title} / {panel.title}: {query.expression}"
        for row in ROWS
        for panel in row.panels
        for query in panel.queries
        if not any(value != "NaN" for value in values(run, query.expression, instant=panel.instant))
    ]
    assert not empty


@pytest.mark.req("OBS-3")
async def test_rules_are_evaluated_without_an_error_and_nothing_fires_that_should_not(run: Observed) -> None:
    rules = run.prometheus.rules()
    assert {rule["name"]: rule["lastError"] for rule in rules if rule["health"] == "err" or rule.get("lastError")} == {}
    assert all(rule["health"] == "ok" for rule in rules)
    firing = {rule["name"] for rule in rules if rule["type"] == "alerting" and rule["state"] == "firing"}
    assert firing == set()


@pytest.mark.req("OBS-1")
async def test_every_scrape_went_well(run: Observed) -> None:
    # A scrape that a busy machine cut short is followed by one that is not; one that fails in earnest, by none.
    await eventually(lambda: [target["lastError"] for target in run.prometheus.targets()] == ["", ""])


@pytest.mark.req("OBS-1", "CON-4")
async def test_promtool_has_nothing_to_object_to_any_scrape(run: Observed, program: Any) -> None:
    for target in run.prometheus.targets():
        assert await asyncio.to_thread(objections, program("promtool"), target["scrapeUrl"]) == b""


@pytest.mark.req("OBS-1")
async def test_what_is_scraped_is_what_the_code_says_and_nothing_else(run: Observed) -> None:
    known = {name: metric for metric in metrics_in_code() for name in metric.series}
    added = {"__name__", "job", "instance", "namespace", "le"}
    for labels in run.prometheus.series():
        metric = known[labels["__name__"]]
        assert set(labels) - added == set(metric.labels), metric.name
