"""What the chart gives to the webhook comes to pods that Kubernetes and its Pod Security accept."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.injection.deciding import Outcome
from interlock_gateway.injection.template import Template, load_template
from manifest_schemas import validator
from pod_security import violations
from rendering import NEWEST, ROOT, Helm, Manifest, at, example, examples, one_of

sys.path.append(str(ROOT / "tests" / "unit" / "injection"))  # pods and reviews are described there

from reviewing import INJECTABLE, decided, injected, pod, small_pod

Rendered = Callable[[str], list[Manifest]]
each_template = pytest.mark.parametrize("name", [one for one in examples() if one.startswith("sidecar-inject")])


def template_of(manifests: list[Manifest], directory: Path) -> Template:
    file = directory / "sidecar.yaml"
    file.write_text(one_of(manifests, "ConfigMap", "-injector")["data"]["sidecar.yaml"])
    return load_template(file)


@pytest.mark.req("K8S-1", "K8S-3")
@each_template
def test_the_charts_sidecar_is_put_into_real_pods_which_stay_valid(
    rendered: Rendered, name: str, tmp_path: Path
) -> None:
    template = template_of(rendered(name), tmp_path)
    for whole in (small_pod(), *(pod(one) for one in INJECTABLE)):
        now: Any = injected(whole, template)
        validator(NEWEST, "v1", "Pod").validate(now)
        assert set(violations(now["spec"])) <= set(violations(whole["spec"]))
        assert decided(now, template)[0] is Outcome.ALREADY


@pytest.mark.req("K8S-1")
@each_template
def test_an_injected_agent_reaches_the_socket_and_nothing_else_of_the_gateways(
    rendered: Rendered, name: str, tmp_path: Path
) -> None:
    now = injected(small_pod(), template_of(rendered(name), tmp_path))
    agent = at(now, "spec containers agent")
    assert agent["volumeMounts"] == [{"name": "interlock-socket", "mountPath": "/run/interlock", "readOnly": True}]
    assert agent["env"] == [{"name": "INTERLOCK_ADDRESS", "value": "unix:/run/interlock/agent.sock"}]


@pytest.mark.req("K8S-1")
def test_an_image_from_a_mirror_that_the_values_name_is_the_gateways(helm: Helm, tmp_path: Path) -> None:
    values = {"injector": {"imageMirrors": ["mirror.example/docker"]}}
    template = template_of(helm.manifests(example("sidecar-inject"), values), tmp_path)
    now = injected(small_pod(), template)
    gateway = at(now, "spec initContainers interlock")
    gateway["image"] = f"mirror.example/docker/{gateway['image']}"
    assert decided(now, template)[0] is Outcome.ALREADY
    gateway["image"] = f"elsewhere.example/{gateway['image']}"
    assert decided(now, template)[0] is Outcome.REFUSED
