"""The two shapes: what runs, who may reach what, and what an agent beside the gateway cannot touch."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendering import CHART, NEWEST, Helm, Manifest, at, containers_of, example, examples, one_of, pod_specs

Rendered = Callable[[str], list[Manifest]]
PRIVATE = (
    "interlock-state",
    "interlock-config",
    "interlock-audit",
    "interlock-opa",
    "interlock-toolbox",
    "interlock-tmp",
)


def the_pod(manifests: list[Manifest], kind: str, name: str = "") -> Manifest:
    spec: Manifest = at(one_of(manifests, kind, name), "spec template spec")
    return spec


@pytest.mark.req("K8S-1")
@pytest.mark.parametrize("name", ["sidecar-pod", "sidecar-pod-opa"])
def test_the_agent_gets_the_socket_and_nothing_else_of_the_gateways(rendered: Rendered, name: str) -> None:
    ((_, spec),) = pod_specs(rendered(name))
    for container in spec["containers"]:
        mounts = {one["name"]: one for one in container.get("volumeMounts", [])}
        private = [one for one in mounts if one.startswith(PRIVATE) or "secret" in one or "provider" in one]
        assert not private
        if container["name"] == "agent":
            # It could put a socket of its own there otherwise.
            assert mounts["interlock-socket"]["readOnly"] is True
            assert {"name": "INTERLOCK_ADDRESS", "value": "unix:/run/interlock/agent.sock"} in container["env"]
        else:
            assert "interlock-socket" not in mounts
        assert mounts.get("interlock-workspace", {"readOnly": True})["readOnly"] is True
        assert not [one for one in container.get("env", []) if "secretKeyRef" in one.get("valueFrom", {})]
    assert not spec.get("shareProcessNamespace")


@pytest.mark.req("K8S-1")
def test_native_sidecars_start_in_the_order_in_which_they_are_needed(rendered: Rendered) -> None:
    ((_, spec),) = pod_specs(rendered("sidecar-pod-opa"))
    assert [one["name"] for one in spec["initContainers"]] == ["interlock-opa", "interlock", "warm-up"]
    assert [one.get("restartPolicy") for one in spec["initContainers"]] == ["Always", "Always", None]
    # The agent's own containers wait until calls are served.
    assert spec["initContainers"][1]["startupProbe"]["grpc"]["service"] == ""


@pytest.mark.req("K8S-2")
@pytest.mark.parametrize("name", examples())
def test_the_kubelet_asks_for_life_and_readiness_apart(rendered: Rendered, name: str) -> None:
    for _, spec in pod_specs(rendered(name)):
        for container in containers_of(spec):
            if container["name"] == "interlock":
                assert container["readinessProbe"]["grpc"]["service"] == ""
                assert container["livenessProbe"]["grpc"]["service"] == "live"
                assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()


@pytest.mark.req("K8S-2")
def test_a_toolbox_of_its_own_is_asked_for_health_without_tls_and_lets_its_calls_end(rendered: Rendered) -> None:
    spec = the_pod(rendered("service-autoscaled"), "Deployment", "-toolbox")
    (container,) = spec["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["grpc"] == {"port": 7091}
    assert {"--health-listen=0.0.0.0:7091", "--drain-s=120"} <= set(container["args"])
    assert {"name": "health", "containerPort": 7091, "protocol": "TCP"} in container["ports"]
    asleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] >= asleep + 120 + 5
    service = one_of(rendered("service-autoscaled"), "Service", "-toolbox")
    assert [one["port"] for one in service["spec"]["ports"]] == [7090], "health is for the kubelet alone"


@pytest.mark.req("K8S-1")
def test_receipts_are_on_volumes_that_outlive_pods_unless_their_loss_was_accepted(rendered: Rendered) -> None:
    stateful = one_of(rendered("service-postgresql"), "StatefulSet")
    assert at(stateful, "spec persistentVolumeClaimRetentionPolicy") == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    assert (
        at(stateful, "spec serviceName")
        == one_of(rendered("service-postgresql"), "Service", "-pods")["metadata"]["name"]
    )
    assert at(one_of(rendered("service-postgresql"), "Service", "-pods"), "spec clusterIP") == "None"
    volatile = the_pod(rendered("service-autoscaled"), "Deployment", "demo-interlock")
    assert at(volatile, "volumes interlock-state emptyDir") is not None


@pytest.mark.req("K8S-1")
def test_replicas_are_spread_scaled_and_kept(rendered: Rendered) -> None:
    manifests = rendered("service-autoscaled")
    scaler = one_of(manifests, "HorizontalPodAutoscaler")
    assert at(scaler, "spec scaleTargetRef") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "demo-interlock",
    }
    assert at(one_of(manifests, "PodDisruptionBudget"), "spec maxUnavailable") == "25%"
    spread = the_pod(rendered("service-postgresql"), "StatefulSet")["topologySpreadConstraints"]
    assert [one["topologyKey"] for one in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


@pytest.mark.req("K8S-2")
def test_an_agent_of_a_service_reaches_the_gateway_and_dns_and_no_provider(rendered: Rendered) -> None:
    manifests = rendered("service-postgresql")
    gateway = one_of(manifests, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    both = [one for one in manifests if one["metadata"]["name"] == "demo-interlock-agents"]
    assert [one["metadata"]["namespace"] for one in both] == ["research", "support"]
    agents = both[0]["spec"]
    assert agents["policyTypes"] == ["Egress"]
    ports = [sorted(port["port"] for port in rule["ports"]) for rule in agents["egress"]]
    assert ports == [[53, 53], [7080], [443]]
    assert at(agents, "egress 1 to 0 podSelector matchLabels").items() <= gateway.items()
    providers = one_of(manifests, "NetworkPolicy", "-providers")["spec"]
    assert providers["policyTypes"] == ["Ingress"]
    (only,) = providers["ingress"]
    assert at(only, "from 0 podSelector matchLabels").items() <= gateway.items()
    toolbox = one_of(rendered("service-autoscaled"), "NetworkPolicy", "-toolbox")["spec"]
    assert toolbox["egress"] == []
    assert [at(one, "from 0 podSelector matchLabels app.kubernetes.io/component") for one in toolbox["ingress"]] == [
        "gateway"
    ]


@pytest.mark.req("K8S-2", "EXT-1")
def test_no_agent_of_a_service_reaches_the_port_at_which_others_are_spoken_for(helm: Helm) -> None:
    asking = [{"podSelector": {"matchLabels": {"app": "agentgateway"}}}]
    values = {
        "extmcp": {"enabled": True},
        "config": {"extmcp": {"callers": ["agentgateway"]}},
        "networkPolicy": {"extmcpFrom": asking},
    }
    manifests = helm.manifests(example("service-postgresql"), values)
    policies = [one["spec"] for one in manifests if one["kind"] == "NetworkPolicy"]
    rules = [rule for spec in policies for way in ("ingress", "egress") for rule in spec.get(way, [])]
    (only,) = [rule for rule in rules if 7091 in [port["port"] for port in rule.get("ports", [])]]
    assert only == {"ports": [{"port": 7091, "protocol": "TCP"}], "from": asking}
    services = {
        one["metadata"]["name"]: [port["port"] for port in one["spec"]["ports"]]
        for one in manifests
        if one["kind"] == "Service"
    }
    assert services["demo-interlock-extmcp"] == [7091]
    assert 7091 not in services["demo-interlock"]


@pytest.mark.req("K8S-1")
def test_the_webhook_is_asked_about_labelled_pods_and_labelled_namespaces_only(rendered: Rendered) -> None:
    webhooks = one_of(rendered("sidecar-inject"), "MutatingWebhookConfiguration")["webhooks"]

    def asked(namespace: dict[str, str], pod: dict[str, str]) -> list[str]:
        return [
            one["name"]
            for one in webhooks
            if selects(one["namespaceSelector"], namespace) and selects(one["objectSelector"], pod)
        ]

    label, name = "interlock.dev/inject", "kubernetes.io/metadata.name"
    plain, labelled = {name: "research"}, {name: "research", label: "true"}
    assert asked(plain, {}) == []
    assert asked(plain, {label: "true"}) == ["pods.inject.interlock.dev"]
    assert asked(plain, {label: "yes"}) == ["pods.inject.interlock.dev"]
    assert asked(plain, {label: "false"}) == []
    assert asked(labelled, {}) == ["namespaces.inject.interlock.dev"]
    assert asked(labelled, {label: "true"}) == ["namespaces.inject.interlock.dev"]
    assert asked(labelled, {label: "false"}) == []
    unclear = {name: "research", label: "yes"}
    assert asked(unclear, {}) == ["unclear.inject.interlock.dev"]
    assert asked(unclear, {label: "true"}) == ["pods.inject.interlock.dev"]
    assert asked(unclear, {label: "false"}) == []
    assert asked({name: "research", label: "false"}, {}) == []
    paths = {one["name"].partition(".")[0]: one["clientConfig"]["service"]["path"] for one in webhooks}
    assert paths == {"namespaces": "/inject", "pods": "/inject", "unclear": "/inject/unclear"}
    for elsewhere in ("agents", "kube-system", "unlisted"):
        assert asked({name: elsewhere, label: "true"}, {label: "true"}) == []
        assert asked({name: elsewhere, label: "yes"}, {}) == []


@pytest.mark.req("K8S-1")
def test_another_chart_includes_the_same_sidecar(helm: Helm, tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    shutil.copytree(CHART, parent / "charts" / "interlock")
    (parent / "Chart.yaml").write_text("{apiVersion: v2, name: parent, version: 1.0.0}")
    (parent / "templates").mkdir()
    (parent / "templates" / "agent.yaml").write_text(_PARENT)
    values = yaml.safe_load(example("sidecar-include").read_text())
    manifests = helm.manifests({"interlock": values, "global": {"anything": 1}}, chart=parent)
    ((_, spec),) = pod_specs(manifests)
    volumes: dict[str, Any] = {one["name"]: one for one in spec["volumes"]}
    config_map = at(volumes["interlock-config"], "configMap name")
    assert config_map == one_of(manifests, "ConfigMap", "-config")["metadata"]["name"]
    mounts = {mount["name"] for one in containers_of(spec) for mount in one["volumeMounts"]}
    assert mounts == volumes.keys()
    assert [one["name"] for one in spec["initContainers"]] == ["interlock-toolbox", "interlock"]
    assert "checksum/interlock" in one_of(manifests, "Deployment")["spec"]["template"]["metadata"]["annotations"]


@pytest.mark.req("K8S-1")
def test_a_certificate_that_helm_makes_is_the_one_that_the_api_server_trusts(rendered: Rendered) -> None:
    manifests = rendered("sidecar-inject-for-trying")
    secret = one_of(manifests, "Secret")
    for one in one_of(manifests, "MutatingWebhookConfiguration")["webhooks"]:
        assert one["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]


def selects(selector: Manifest, labels: dict[str, str]) -> bool:
    """Whether Kubernetes would say that a selector selects something with these labels."""
    exactly = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exactly and all(holds(one, labels) for one in selector.get("matchExpressions", []))


def holds(expression: Manifest, labels: dict[str, str]) -> bool:
    """Whether one requirement of a selector holds."""
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise AssertionError(expression["operator"])


_PARENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata:
      labels: {app: agent}
      annotations:
        {{- include "interlock.podAnnotations" .Subcharts.interlock | nindent 8 }}
    spec:
      initContainers:
        {{- include "interlock.sidecar.initContainers" .Subcharts.interlock | nindent 8 }}
      containers:
        - name: agent
          image: agent:1
          env:
            {{- include "interlock.sidecar.agentEnv" .Subcharts.interlock | nindent 12 }}
          volumeMounts:
            {{- include "interlock.sidecar.agentVolumeMounts" .Subcharts.interlock | nindent 12 }}
      volumes:
        {{- include "interlock.sidecar.volumes" .Subcharts.interlock | nindent 8 }}
"""


@pytest.mark.req("K8S-1")
def test_a_release_says_where_the_gateway_is_and_what_it_does_not_hold(helm: Helm, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    notes = (chart / "templates" / "NOTES.txt").read_text()
    manifest = 'kind: Notes\nmetadata: {name: notes}\ntext: {{ include "notes" . | quote }}\n'
    (chart / "templates" / "notes.yaml").write_text('{{- define "notes" }}' + notes + "{{ end -}}\n" + manifest)

    def said(name: str) -> str:
        text: str = one_of(helm.manifests(example(name), chart=chart), "Notes")["text"]
        return text

    assert "demo-interlock.agents.svc:7080, over TLS" in said("service-sqlite")
    assert "exec deployment/demo-interlock -c interlock" in said("service-autoscaled")
    assert "Receipts are in an emptyDir" in said("service-autoscaled")
    assert "something else has to encrypt it" in said("service-in-a-mesh")
    assert "networkPolicy.enabled is off" in said("service-in-a-mesh")
    assert "beside the agent agent" in said("sidecar-pod")
    assert "failurePolicy is Ignore" in said("sidecar-inject-for-trying")
    assert "failurePolicy is Ignore" not in said("sidecar-inject")
    assert 'With any other value than "true" and "false" they are refused.' in said("sidecar-inject")
    assert "networkPolicy.agentPods is empty" in said("service-sqlite")
    assert "networkPolicy.agentPods is empty" not in said("service-postgresql")
    assert "where the agents' pods go is yours to close" in said("sidecar-inject")


@pytest.mark.req("K8S-1")
def test_without_a_place_for_dns_no_port_is_open_to_everywhere(helm: Helm) -> None:
    manifests = helm.manifests(example("service-postgresql"), {"networkPolicy": {"dns": []}})
    policies = [one["spec"] for one in manifests if one["kind"] == "NetworkPolicy"]
    rules = [rule for spec in policies for rule in spec.get("egress") or []]
    assert rules
    assert not [rule for rule in rules if 53 in [port["port"] for port in rule["ports"]]]


@pytest.mark.req("K8S-2")
def test_two_gateways_with_sqlite_are_never_there_at_once(helm: Helm) -> None:
    lost = {"persistence": {"enabled": False, "lossAccepted": True}}
    alone = one_of(helm.manifests(example("service-sqlite"), lost), "Deployment")["spec"]
    assert alone["strategy"] == {"type": "Recreate"}
    several = one_of(helm.manifests(example("service-autoscaled")), "Deployment", "demo-interlock")["spec"]
    assert several["strategy"]["type"] == "RollingUpdate"


@pytest.mark.req("K8S-1")
def test_a_release_with_a_dot_in_its_name_has_names_that_services_may_have(helm: Helm) -> None:
    text = helm.run("template", "a.b", str(CHART), "--values", str(example("service-sqlite")), "--kube-version", NEWEST)
    manifests = list(yaml.safe_load_all(text))
    assert one_of(manifests, "Service", "-pods")["metadata"]["name"] == "a-b-interlock-pods"


@pytest.mark.req("OBS-3")
@pytest.mark.parametrize(("name", "left_out"), [("service-autoscaled", set()), ("sidecar-pod", {"InterlockGone"})])
def test_the_rules_are_those_of_the_file_but_for_gateways_that_go_with_their_agents(
    helm: Helm, name: str, left_out: set[str]
) -> None:
    manifests = helm.manifests(example(name), {"metrics": {"rules": {"enabled": True}}})
    given = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    for group in given["groups"]:
        group["rules"] = [rule for rule in group["rules"] if rule.get("alert") not in left_out]
    assert one_of(manifests, "PrometheusRule")["spec"] == given


@pytest.mark.req("OBS-3")
def test_alerts_name_their_runbook_where_its_readers_are_and_nowhere_else(helm: Helm) -> None:
    base = "https://wiki.example/interlock/runbooks.md"
    for given in ("", base):
        values = {"metrics": {"rules": {"enabled": True, "runbookBaseUrl": given}}}
        groups = one_of(helm.manifests(example("service-sqlite"), values), "PrometheusRule")["spec"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        urls = {rule["alert"]: rule["annotations"].get("runbook_url") for rule in rules if "alert" in rule}
        assert urls == {alert: f"{given}#{alert.lower()}" if given else None for alert in urls}
        assert not [rule for rule in rules if "record" in rule and "annotations" in rule]
