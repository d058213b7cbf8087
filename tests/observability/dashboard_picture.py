"""The dashboard as a picture, without Grafana: `make picture` plays the demonstration and draws what Prometheus says.

Every number in it was scraped from gateways that ran, and asked for with the panels' own queries.
"""

import argparse
import asyncio
import math
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from dashboard_json import dashboard  # noqa: E402 - found through the path above
from dashboard_panels import Panel, panels  # noqa: E402 - as above
from drawing import HEADING_PX, Box, Drawing, Line  # noqa: E402 - as above
from observed_run import Observed, observed  # noqa: E402 - as above

PICTURE = HERE.parents[1] / "docs" / "images" / "dashboard.svg"
COLUMN_PX, UNIT_PX, GAP_PX, MARGIN_PX = 50, 20, 6, 12
POINTS = 60
PLAYED_S = 75.0


async def drawn(program: Path, directory: Path) -> str:
    """The picture, as SVG."""
    async with observed(program, directory, scrape_s=1.0, last_s=PLAYED_S) as run:
        return picture(run)


def picture(run: Observed) -> str:
    """What the panels show of a run, row by row as the dashboard has them."""
    described = {panel.title: panel for panel in panels()}
    laid = dashboard()["panels"]
    drawing = Drawing(24 * COLUMN_PX + 2 * MARGIN_PX, _bottom(laid) + HEADING_PX)
    seconds = round(run.ended - run.began)
    drawing.heading(MARGIN_PX, 24, f"Interlock: two gateways, {seconds} seconds of the demonstration, again and again")
    for one in laid:
        box = _box(one["gridPos"])
        if one["type"] == "row":
            drawing.heading(box.x, box.y + UNIT_PX - GAP_PX, one["title"])
        else:
            _draw(drawing, box, described[one["title"]], run)
    return drawing.text()


def _draw(drawing: Drawing, box: Box, panel: Panel, run: Observed) -> None:
    drawing.frame(box, panel.title)
    if panel.kind == "timeseries":
        drawing.chart(box, _lines(panel, run), panel.unit, stacked=panel.stacked)
    else:
        values = sorted(_newest(panel, run), key=lambda pair: -pair[1])
        (drawing.figures if panel.kind == "stat" else drawing.bars)(box, values, panel.unit)


def _lines(panel: Panel, run: Observed) -> list[Line]:
    step_s = (run.ended - run.began) / POINTS
    found = []
    for query in panel.queries:
        for series in run.prometheus.query_range(run.asked(query.expression), run.began, run.ended, step_s):
            points = tuple(
                ((float(at) - run.began) / (run.ended - run.began), float(value))
                for at, value in series["values"]
                if not math.isnan(float(value))
            )
            if points:
                found.append(Line(_named(query.legend, series["metric"]), points))
    return sorted(found, key=lambda line: -max(value for _, value in line.points))


def _newest(panel: Panel, run: Observed) -> list[tuple[str, float]]:
    return [
        (_named(query.legend, series["metric"]), float(series["value"][1]))
        for query in panel.queries
        for series in run.prometheus.query(run.asked(query.expression), run.ended)
    ]


def _named(legend: str, labels: dict[str, str]) -> str:
    for label, value in labels.items():
        legend = legend.replace(f"{{{{{label}}}}}", value)
    return legend


def _box(place: dict[str, int]) -> Box:
    return Box(
        MARGIN_PX + place["x"] * COLUMN_PX + GAP_PX / 2,
        HEADING_PX + place["y"] * UNIT_PX + GAP_PX / 2,
        place["w"] * COLUMN_PX - GAP_PX,
        place["h"] * UNIT_PX - GAP_PX,
    )


def _bottom(laid: list[dict[str, dict[str, int]]]) -> int:
    return MARGIN_PX + max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in laid) * UNIT_PX


def main() -> None:
    """Draw it where the document has it, or at `--to`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("prometheus is missing: run `make tools`")
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as directory:
        text = asyncio.run(drawn(Path(program), Path(directory)))
    arguments.to.parent.mkdir(parents=True, exist_ok=True)
    arguments.to.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
