"""Grafana's dashboard, made from the panels: `python tests/observability/dashboard_json.py` writes it anew."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dashboard_panels import ROWS, Panel, Query

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "helm" / "interlock" / "files" / "dashboard.json"
# The oldest Grafana whose dashboards look like this is 10.
SCHEMA_VERSION = 39
COLUMNS = 24
HEIGHT = 8
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
VARIABLES = ("namespace", "job", "instance")


def dashboard() -> dict[str, Any]:
    """The dashboard, as Grafana imports it."""
    return {
        "title": "Interlock",
        "uid": "interlock",
        "description": "What agents do, what they are kept from, and how the gateways in between are.",
        "tags": ["interlock"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }


def text() -> str:
    """It, as it is committed."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


def _variables() -> Iterator[dict[str, Any]]:
    yield {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
    }
    above: list[str] = []
    for name in VARIABLES:
        chosen = ", ".join(f'{one}=~"${one}"' for one in above)
        query = f"label_values(interlock_build_info{{{chosen}}}, {name})"
        above.append(name)
        yield {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": query, "refId": name},
            "definition": query,
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "hide": 0,
        }


def _panels() -> Iterator[dict[str, Any]]:
    number = top = 0
    for row in ROWS:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
            "panels": [],
        }
        top, left = top + 1, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left = top + HEIGHT, 0
            number += 1
            yield _panel(number, panel, left, top)
            left += panel.width
        top += HEIGHT


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": HEIGHT},
        "targets": [_target(panel, query, place) for place, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
    }


def _target(panel: Panel, query: Query, place: int) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + place),
        "datasource": SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend or "__auto",
        "instant": panel.instant,
        "range": not panel.instant,
        "format": "time_series",
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0, "color": {"mode": "palette-classic"}}
    if panel.kind == "timeseries":
        stacking = "normal" if panel.stacked else "none"
        defaults["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 25 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": stacking, "group": "A"},
        }
    return defaults


_NEWEST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {"reduceOptions": _NEWEST, "colorMode": "value", "graphMode": "none", "textMode": "auto"},
    "bargauge": {"reduceOptions": _NEWEST, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": True},
}


if __name__ == "__main__":
    DASHBOARD.write_text(text(), encoding="utf-8")
