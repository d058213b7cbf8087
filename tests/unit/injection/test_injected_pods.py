"""Pods that ask get the sidecar, wholly, once, and as Kubernetes accepts it (K8S-1)."""

import copy
import json
from typing import Any

import kubernetes_validate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.injection.deciding import Outcome
from interlock_gateway.injection.patch import pointer
from jsonpointer import JsonPointer
from reviewing import INJECTABLE, PODS, decided, injected, pod, small_pod, template

pytestmark = pytest.mark.req("K8S-1")
AGENTS = {
    "deployment": ["agent"],
    "job": ["report"],
    "meshed": ["agent"],
    "notebook": ["notebook"],
    "postgresql": ["metrics"],
}


@pytest.mark.parametrize("version", ["1.35", "1.36", "1.37"])
@pytest.mark.parametrize("name", INJECTABLE)
def test_a_patched_pod_is_one_that_kubernetes_accepts(name: str, version: str) -> None:
    kubernetes_validate.validate(injected(pod(name)), version, strict=True)


@pytest.mark.parametrize("name", INJECTABLE)
def test_a_pod_gets_all_of_the_template_and_keeps_all_it_had(name: str) -> None:
    before, after, made = pod(name), injected(pod(name)), template()
    own = before["spec"].get("initContainers") or []
    assert after["spec"]["initContainers"] == made.init_containers + own
    assert after["spec"]["volumes"] == (before["spec"].get("volumes") or []) + made.volumes
    for old, new in zip(before["spec"]["containers"], after["spec"]["containers"], strict=True):
        mine = old["name"] in AGENTS[name]
        more_env, more_mounts = (made.agent_env, made.agent_volume_mounts) if mine else ([], [])
        assert (new.get("env") or []) == more_env + (old.get("env") or [])
        assert (new.get("volumeMounts") or []) == (old.get("volumeMounts") or []) + more_mounts
        assert without(old, "env", "volumeMounts") == without(new, "env", "volumeMounts")
    assert without(before["spec"], *PATCHED) == without(after["spec"], *PATCHED)
    assert before["metadata"]["labels"] == after["metadata"]["labels"]


def test_no_container_but_the_sidecars_sees_the_gateways_state() -> None:
    after = injected(pod("postgresql"))
    for container in after["spec"]["containers"]:
        names = {mount["name"] for mount in container.get("volumeMounts", [])}
        assert not names & {"interlock-state", "interlock-config", "interlock-tls", "interlock-opa"}


def test_annotations_say_what_was_put_in_and_who_reaches_it() -> None:
    said = injected(pod("deployment"))["metadata"]["annotations"]
    assert said["interlock.dev/injected"] == template().digest
    assert said["interlock.dev/agents"] == "agent"
    assert said["kubectl.kubernetes.io/restartedAt"] == "2026-11-20T09:14:07Z"


@pytest.mark.parametrize("name", INJECTABLE)
def test_a_pod_that_was_injected_is_left_alone(name: str) -> None:
    outcome, verdict = decided(injected(pod(name)))
    assert outcome is Outcome.ALREADY
    assert verdict.allowed
    assert not verdict.patch


def test_a_pod_that_others_changed_after_us_is_left_alone() -> None:
    made = template().model_copy(update={"image_mirrors": ["mirror.example"]})
    changed = injected(pod("deployment"), made)
    spec = changed["spec"]
    for container in spec["initContainers"] + spec["containers"]:
        container["image"] = f"mirror.example/{container['image']}"
        container["terminationMessagePath"] = "/dev/termination-log"
        container.setdefault("env", []).insert(0, {"name": "CLUSTER", "value": "eu-1"})
        container["resources"] = {"limits": {"memory": "3Gi"}}
    spec["initContainers"].insert(0, {"name": "istio-init", "image": "proxy"})
    spec["containers"].append({"name": "late", "image": "late", "ports": [{"containerPort": 9000}]})
    next(one for one in spec["volumes"] if one["name"] == "interlock-tmp")["emptyDir"]["sizeLimit"] = "268435456"
    outcome, verdict = decided(changed, made)
    assert outcome is Outcome.ALREADY, verdict.refusal


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda pod: pod["metadata"]["annotations"].clear(), "the annotation interlock.dev/injected is missing"),
        (lambda pod: pod["metadata"]["annotations"].pop("interlock.dev/agents"), "the annotation interlock.dev/agents"),
        (lambda pod: pod["spec"]["initContainers"].clear(), "the container interlock is missing"),
        (lambda pod: pod["spec"]["initContainers"].pop(0), "the container interlock-opa is missing"),
        (lambda pod: pod["spec"]["volumes"].pop(), "the volume interlock-tls is missing, or is another"),
        (lambda pod: pod["spec"]["containers"][0]["volumeMounts"].pop(), "container agent lacks mounts or variables"),
        (lambda pod: pod["spec"]["containers"][0]["env"].pop(0), "container agent lacks mounts or variables"),
        (lambda pod: pod["spec"]["initContainers"][1].update(args=["--version"]), "interlock is not the gateway's"),
        (lambda pod: pod["spec"]["initContainers"][1].pop("restartPolicy"), "interlock is not the gateway's"),
        (lambda pod: pod["spec"]["initContainers"][1].pop("envFrom"), "interlock is not the gateway's"),
        (
            lambda pod: pod["spec"]["initContainers"][1]["securityContext"].update(runAsUser=0),
            "interlock is not the gateway's",
        ),
        (
            lambda pod: pod["metadata"]["annotations"].update({"interlock.dev/injected": "0123456789abcdef"}),
            "from another template than is in force",
        ),
        (
            lambda pod: pod["metadata"]["annotations"].update({"interlock.dev/agents": "agent,nobody"}),
            "interlock.dev/agents names nobody, and there is no such container",
        ),
        (
            lambda pod: pod["spec"]["containers"][0]["volumeMounts"].append(
                {"name": "interlock-state", "mountPath": "/state"}
            ),
            "container agent mounts interlock-state, which is a volume of the gateway's",
        ),
        (
            lambda pod: pod["spec"]["containers"][0]["volumeMounts"].append(
                {"name": "interlock-socket", "mountPath": "/writable"}
            ),
            "container agent mounts interlock-socket, which is a volume of the gateway's",
        ),
        (
            lambda pod: pod["spec"]["containers"][0]["volumeMounts"].append(
                {"name": "late", "mountPath": "run/interlock/agent.sock"}
            ),
            "container agent mounts late at /run/interlock/agent.sock, where it would reach the gateway",
        ),
        # Of two variables with one name the last counts.
        (
            lambda pod: pod["spec"]["containers"][0]["env"].append({"name": "INTERLOCK_ADDRESS", "value": "late:7080"}),
            "container agent lacks mounts or variables",
        ),
        (
            lambda pod: pod["spec"]["initContainers"][1]["env"].append({"name": "INTERLOCK_CONFIG", "value": "/late"}),
            "interlock is not the gateway's",
        ),
        (
            lambda pod: pod["spec"]["containers"].append(
                {"name": "late", "securityContext": {"privileged": True}, "image": "late"}
            ),
            "container late is privileged",
        ),
    ],
)
def test_a_pod_with_a_part_of_the_sidecar_is_refused(take: Any, said: str) -> None:
    changed = injected(pod("deployment"))
    take(changed)
    outcome, verdict = decided(changed)
    assert outcome is Outcome.REFUSED
    assert said in verdict.refusal


def test_a_forged_annotation_gets_nobody_past_the_gateway() -> None:
    forged = small_pod()
    forged["metadata"]["annotations"] = {
        "interlock.dev/injected": template().digest,
        "interlock.dev/agents": "agent",
    }
    outcome, verdict = decided(forged)
    assert outcome is Outcome.REFUSED
    assert "the container interlock is missing" in verdict.refusal


@pytest.mark.parametrize(
    ("label", "outcome"),
    [(None, Outcome.INJECTED), ("true", Outcome.INJECTED), ("false", Outcome.LEFT_ALONE), ("yes", Outcome.REFUSED),
     ("", Outcome.REFUSED), ("True", Outcome.REFUSED), ("FALSE", Outcome.REFUSED)],
)  # fmt: skip
def test_a_pods_label_goes_before_its_namespaces(label: str | None, outcome: Outcome) -> None:
    asking = small_pod()
    asking["metadata"]["labels"] = {} if label is None else {"interlock.dev/inject": label}
    found, verdict = decided(asking)
    assert found is outcome
    if outcome is Outcome.LEFT_ALONE:
        assert (verdict.allowed, verdict.patch, verdict.warnings) == (True, (), ())


def test_only_the_named_containers_reach_the_gateway() -> None:
    two = small_pod(containers=[{"name": "web", "image": "w"}, {"name": "agent", "image": "a"}])
    two["metadata"]["annotations"] = {"interlock.dev/agents": " agent "}
    web, agent = injected(two)["spec"]["containers"]
    assert web == {"name": "web", "image": "w"}
    assert agent["env"] == template().agent_env


@pytest.mark.parametrize("metadata", [None, {}, {"labels": None, "annotations": None}])
def test_what_is_not_there_is_made(metadata: dict[str, Any] | None) -> None:
    bare: dict[str, Any] = {"spec": {"containers": [{"name": "agent", "image": "a", "env": []}], "volumes": None}}
    if metadata is not None:
        bare["metadata"] = metadata
    assert injected(bare)["metadata"]["annotations"]["interlock.dev/agents"] == "agent"


def test_a_template_without_anything_for_agents_only_adds_the_sidecar() -> None:
    made = template().model_copy(update={"agent_volume_mounts": [], "agent_env": []})
    assert injected(small_pod(), made)["spec"]["containers"] == small_pod()["spec"]["containers"]
    assert decided(injected(small_pod(), made), made)[0] is Outcome.ALREADY


NAMES = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
NOTHING: st.SearchStrategy[Any] = st.sampled_from([None, []])


@given(parts=st.lists(st.text(max_size=12), min_size=1, max_size=5))
def test_a_pointer_leads_back_to_its_parts(parts: list[str]) -> None:
    assert JsonPointer(pointer(*parts)).parts == parts


@settings(deadline=None, max_examples=60)
@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    annotations=st.one_of(
        st.none(), st.dictionaries(st.text(min_size=1, max_size=12), st.text(max_size=5), max_size=3)
    ),
    volumes=NOTHING | st.lists(NAMES.map(lambda name: {"name": f"v-{name}", "emptyDir": {}}), max_size=3),
    before=NOTHING | st.lists(NAMES.map(lambda name: {"name": f"i-{name}", "image": "i"}), max_size=3),
    env=NOTHING | st.lists(NAMES.map(lambda name: {"name": name, "value": "~/"}), max_size=3),
)
def test_whatever_a_pod_has_it_is_injected_once_and_loses_nothing(
    names: list[str], annotations: Any, volumes: Any, before: Any, env: Any
) -> None:
    containers = [{"name": name, "image": "a", "env": copy.deepcopy(env)} for name in names]
    made = small_pod(containers=containers, volumes=volumes, initContainers=before)
    made["metadata"]["annotations"] = annotations
    kept = json.dumps(made)
    after = injected(made)
    assert json.dumps(made) == kept
    assert decided(after) == (Outcome.ALREADY, decided(after)[1])
    assert not decided(after)[1].patch
    assert after["spec"]["initContainers"][0]["name"] == "interlock-opa"
    assert {**(annotations or {}), **after["metadata"]["annotations"]} == after["metadata"]["annotations"]


def test_every_pod_that_is_written_down_is_used() -> None:
    assert set(INJECTABLE) | {"node_exporter", "runner"} == set(PODS)


PATCHED = ("initContainers", "volumes", "containers")


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}
