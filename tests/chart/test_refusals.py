"""Values that contradict each other, or leave open what has to be decided, are refused with a sentence each."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendering import CHART, Helm, RefusedError, Values, example

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text())


def refusal(helm: Helm, on: str, values: Values) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        helm.text(*([] if on == "nothing" else [example(on)]), values)
    return caught.value


@pytest.mark.req("K8S-2")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["says"][0].split(":")[0])
def test_contradictions_are_refused_with_a_sentence_each(helm: Helm, case: dict[str, Any]) -> None:
    assert sorted(refusal(helm, case["from"], case["with"]).sentences) == sorted(case["says"])


def test_every_sentence_of_the_chart_has_a_case() -> None:
    said = [sentence for case in CASES for sentence in case["says"]]
    files = (CHART / "templates").glob("_preflight*.tpl")
    lines = [line for file in files for line in file.read_text().splitlines()]
    sentences = [line for line in lines if line and not line.startswith("{{")]
    assert len(sentences) > 50
    missing = [line for line in sentences if not any(re.fullmatch(pattern_of(line), one) for one in said)]
    assert not missing


def pattern_of(line: str) -> str:
    """A pattern for what a line of a template comes to."""
    return ".*".join(re.escape(part) for part in re.split(r"\{\{.*?\}\}", line))


@pytest.mark.req("K8S-2")
@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"replica": 2}, "at '': additional properties 'replica' not allowed"),
        ({"tls": {"secret": "x"}}, "at '/tls': additional properties 'secret' not allowed"),
        ({"config": {"limits": {"max_cals": 1}}}, "at '/config/limits': additional properties 'max_cals' not allowed"),
        ({"env": [{"name": "A", "vaule": "b"}]}, "at '/env/0': additional properties 'vaule' not allowed"),
        (
            {"providers": [{"name": "a", "address": "b:1", "token": "secret"}]},
            "at '/providers/0': additional properties 'token' not allowed",
        ),
        ({"toolbox": {"agentAccess": "readWrite"}}, "at '/toolbox/agentAccess': value must be one of"),
        ({"ports": {"agents": 80}}, "at '/ports/agents': minimum: got 80, want 1,024"),
        (
            {"metrics": {"rules": {"runbookBaseUrl": "https://a.example/runbooks.md#"}}},
            "at '/metrics/rules/runbookBaseUrl': 'https://a.example/runbooks.md#' does not match pattern",
        ),
    ],
)
def test_keys_that_do_not_exist_are_refused_wherever_they_are(helm: Helm, values: Values, place: str) -> None:
    assert place in str(refusal(helm, "service-sqlite", values))


@pytest.mark.req("K8S-2")
def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    with pytest.raises(RefusedError, match="incompatible with Kubernetes"):
        helm.text(example("service-sqlite"), kubernetes="1.32")


@pytest.mark.req("K8S-1")
def test_an_opa_elsewhere_may_decide(helm: Helm) -> None:
    policy = {"engine": "opa", "opa": {"url": "https://opa.policies.svc:8181"}}
    assert helm.manifests(example("service-sqlite"), {"config": {"policy": policy}})
