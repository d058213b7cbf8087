"""What the dashboard shows, row by row; change it in `agent_rows.py` and `gateway_rows.py`.

`dashboard_json.py` makes Grafana's file of it.
"""

import agent_rows
import gateway_rows
from panel import Panel, Query, Row

ROWS = (*agent_rows.ROWS, *gateway_rows.ROWS)
__all__ = ["ROWS", "Panel", "Query", "Row", "panels"]


def panels() -> tuple[Panel, ...]:
    """All of them, in order."""
    return tuple(panel for row in ROWS for panel in row.panels)
