"""docs/operations.md leaves nothing out, and says nothing that is not so any more (OBS-1)."""

import re

import pytest
from label_bounds import BOUNDS, OF_METRIC
from metrics_in_code import PREFIX, ROOT, metrics_in_code
from operations_document import DOCUMENT, document

# Words in documents that begin like metrics.
NO_METRICS = {"interlock_gateway", "interlock_sdk", "interlock_pushed"}
# What agentgateway's configuration hands to us.
NO_METRICS |= {"interlock_principal", "interlock_groups", "interlock_session", "interlock_call"}
AGAIN = "run python tests/observability/operations_document.py"


@pytest.mark.req("OBS-1")
def test_the_committed_document_is_fresh() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), AGAIN


@pytest.mark.req("OBS-1")
def test_every_label_of_every_metric_is_bounded_and_no_bound_is_left_over() -> None:
    used = {(metric.name, label) for metric in metrics_in_code() for label in metric.labels}
    assert {label for name, label in used if (name, label) not in OF_METRIC} == BOUNDS.keys()
    assert OF_METRIC.keys() <= used


@pytest.mark.req("OBS-1")
def test_every_document_names_metrics_that_there_are() -> None:
    there = {name for metric in metrics_in_code() for name in (metric.name, metric.shown, *metric.series)}
    named = {
        (path.name, name)
        for path in (*DOCUMENT.parent.glob("*.md"), *ROOT.glob("*.md"))
        for name in re.findall(r"(?<![\w/.])interlock_[a-z_]*[a-z](?![\w/.*])", path.read_text(encoding="utf-8"))
    }
    assert {(path, name) for path, name in named if name not in there | NO_METRICS} == set()


@pytest.mark.req("OBS-1")
def test_names_say_what_is_measured_and_in_which_unit() -> None:
    for metric in metrics_in_code():
        assert metric.name.startswith(PREFIX)
        assert not metric.name.endswith(("_total", "_ms", "_kb", "_mb", "_percent", "_minutes", "_hours")), metric.name
        assert metric.text[0].isupper(), metric.name
