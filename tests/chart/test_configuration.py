"""What the chart writes into `interlock.yaml` and beside it is what the gateway reads."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from interlock_gateway.config_loader import load_config
from interlock_gateway.injection.settings import load_webhook_config
from interlock_gateway.injection.template import load_template
from rendering import (
    ROOT,
    Helm,
    Manifest,
    Values,
    at,
    containers_of,
    example,
    examples,
    gateway_config,
    one_of,
    pod_specs,
)

Rendered = Callable[[str], list[Manifest]]
each_example = pytest.mark.parametrize("name", examples())


def gateway_container(manifests: list[Manifest]) -> Manifest | None:
    """The gateway's container, in a pod of the chart's or in the webhook's template."""
    everything = [one for _, spec in pod_specs(manifests) for one in containers_of(spec)]
    for one in manifests:
        if one["kind"] == "ConfigMap" and "sidecar.yaml" in one["data"]:
            everything += yaml.safe_load(one["data"]["sidecar.yaml"])["initContainers"]
    return next((one for one in everything if one["name"] == "interlock"), None)


@pytest.mark.req("K8S-1")
@each_example
def test_the_gateway_accepts_every_configuration_that_is_rendered(
    rendered: Rendered, name: str, tmp_path: Path
) -> None:
    manifests = rendered(name)
    config = gateway_config(manifests)
    jsonschema_rs.validator_for(json.loads((ROOT / "docs" / "config.schema.json").read_text())).validate(config)
    file = tmp_path / "interlock.yaml"
    file.write_text(yaml.safe_dump(config))
    container = gateway_container(manifests)
    given = {} if container is None else {one["name"]: one.get("value", "secret-value") for one in container["env"]}
    loaded = load_config(file, {name: value for name, value in given.items() if name.startswith("INTERLOCK__")})
    tokens = [index for index, one in enumerate(loaded.providers) if one.token == "secret-value"]
    assert tokens == [
        int(found[0]) for found in (re.findall(r"PROVIDERS__(\d+)__TOKEN", one) for one in given) if found
    ]


@pytest.mark.req("K8S-1")
@each_example
def test_every_file_that_the_configuration_names_is_mounted(rendered: Rendered, name: str) -> None:
    manifests = rendered(name)
    container = gateway_container(manifests)
    if container is None:
        return
    mounted = [one["mountPath"] for one in container["volumeMounts"]]
    named = re.findall(r"(?:unix:|=)?(/(?:etc|run|var)/[\w./-]+)", yaml.safe_dump(gateway_config(manifests)))
    assert named
    for path in named:
        assert any(path == one or path.startswith(f"{one}/") for one in mounted), path


@pytest.mark.req("K8S-2")
@each_example
def test_no_config_map_holds_a_secret(rendered: Rendered, name: str) -> None:
    for one in rendered(name):
        if one["kind"] == "ConfigMap":
            text = json.dumps(one["data"])
            assert not re.search(r"PRIVATE KEY|whsec_|://[^/\s:]+:[^/\s@]+@", text)


@pytest.mark.req("K8S-2")
def test_a_changed_configuration_rolls_the_pods_and_nothing_else_does(helm: Helm) -> None:
    place = "spec template metadata annotations checksum/interlock"

    def checksum(*more: Values) -> object:
        return at(one_of(helm.manifests(example("service-sqlite"), *more), "StatefulSet"), place)

    assert checksum() == checksum({"labels": {"a": "b"}})
    assert checksum() != checksum({"config": {"limits": {"max_depth": 10}}})
    # Policies are loaded again by the gateway itself.
    overlay = {"policies": {"overlays": {"ours": {"files": {"data.yaml": "settings: {}"}}}}}
    other = {"policies": {"overlays": {"ours": {"files": {"data.yaml": "settings: {confidence: {}}"}}}}}
    assert checksum(overlay) == checksum(other)


@pytest.mark.req("K8S-1")
@pytest.mark.parametrize("name", [one for one in examples() if one.startswith("sidecar-inject")])
def test_the_webhook_reads_its_configuration_and_the_same_sidecar_as_in_a_pod_of_the_charts(
    rendered: Rendered, helm: Helm, name: str, tmp_path: Path
) -> None:
    files = one_of(rendered(name), "ConfigMap", "-injector")["data"]
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    webhook = load_webhook_config(tmp_path / "webhook.yaml")
    assert webhook.template_file.name == "sidecar.yaml"
    template = load_template(tmp_path / "sidecar.yaml")
    pod = {
        "sidecar": {"use": "pod", "agent": {"container": {"name": "agent", "image": "agent:1"}}},
        "injector": {"failurePolicy": "", "namespaces": [], "certificate": {"source": "", "caBundle": ""}},
        "drain": {"terminationGracePeriodSeconds": 120},
        "networkPolicy": {"egress": [{}], "metricsFrom": [{}]},
    }
    ((_, spec),) = pod_specs(helm.manifests(example(name), pod))
    assert spec["initContainers"] == template.init_containers
    agent = spec["containers"][0]
    assert (agent["env"], agent["volumeMounts"]) == (template.agent_env, template.agent_volume_mounts)
    assert {one["name"] for one in spec["volumes"]} == {one["name"] for one in template.volumes}


@pytest.mark.req("K8S-1")
def test_overlays_lie_in_their_directories_as_the_gateway_names_them(rendered: Rendered) -> None:
    manifests = rendered("service-postgresql")
    assert gateway_config(manifests)["policy"]["overlays"] == [
        "/etc/interlock/policies/ours",
        "/etc/interlock/policies/theirs",
    ]
    volume = at(one_of(manifests, "StatefulSet"), "spec template spec volumes interlock-policies-ours configMap")
    data = one_of(manifests, "ConfigMap", "-policies-ours")["data"]
    assert {one["path"]: data[one["key"]] for one in volume["items"]}.keys() == {"data.yaml", "custom/orders.rego"}
