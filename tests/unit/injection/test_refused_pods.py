"""Pods in which the gateway would not hold the agent are refused, with the reason (K8S-1)."""

from typing import Any

import pytest
from interlock_gateway.injection.deciding import Outcome
from interlock_gateway.injection.review import Verdict
from reviewing import DEAF, decided, pod, refusal_of, small_pod

pytestmark = pytest.mark.req("K8S-1")


def agent(**more: Any) -> dict[str, Any]:
    return {"name": "agent", "image": "agent:1", **more}


def mounting(volume: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "containers": [agent(volumeMounts=[{"name": "it", "mountPath": "/it"}], **more)],
        "volumes": [{"name": "it", **volume}],
    }


def adding(*capabilities: str) -> list[dict[str, Any]]:
    return [agent(securityContext={"capabilities": {"add": list(capabilities)}})]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"hostNetwork": True}, "hostNetwork takes the pod out of its network policies"),
        ({"hostPID": True}, "hostPID lets the agent see the gateway's process"),
        ({"hostIPC": True}, "hostIPC lets the agent reach the memory"),
        ({"shareProcessNamespace": True}, "shareProcessNamespace lets the agent read the gateway's memory"),
        ({"os": {"name": "windows"}}, "asks for Windows"),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, "asks for Windows"),
        ({"containers": [agent(securityContext={"privileged": True})]}, "container agent is privileged"),
        (
            {"containers": [agent(), {"name": "other", "securityContext": {"privileged": True}}]},
            "container other is privileged",
        ),
        (
            {"initContainers": [{"name": "s", "restartPolicy": "Always", "securityContext": {"privileged": True}}]},
            "container s is privileged",
        ),
        ({"containers": [agent(securityContext={"procMount": "Unmasked"})]}, "procMount: Unmasked"),
        ({"containers": adding("SYS_ADMIN")}, "adds SYS_ADMIN"),
        ({"containers": adding("NET_BIND_SERVICE", "CAP_SYS_PTRACE", "net_admin")}, "adds NET_ADMIN, SYS_PTRACE"),
        ({"containers": adding("ALL")}, "adds ALL"),
        ({"containers": adding("NET_RAW")}, "adds NET_RAW"),
        ({"containers": []}, "the pod has no containers"),
        ({"containers": [{"name": "interlock"}]}, "a container is named interlock, as one of the gateway's"),
        ({"initContainers": [{"name": "interlock"}]}, "a container is named interlock"),
        ({"ephemeralContainers": [{"name": "interlock-opa"}]}, "a container is named interlock-opa"),
        ({"volumes": [{"name": "interlock-state"}]}, "a volume is named interlock-state"),
        (
            {"containers": [agent(volumeMounts=[{"name": "interlock-state", "mountPath": "/x"}])]},
            "container agent mounts interlock-state, which is a volume of the gateway's",
        ),
        (
            {"containers": [agent(volumeDevices=[{"name": "interlock-state", "devicePath": "/dev/x"}])]},
            "container agent mounts interlock-state",
        ),
        (
            {"initContainers": [{"name": "i", "volumeMounts": [{"name": "interlock-tls", "mountPath": "/x"}]}]},
            "container i mounts interlock-tls",
        ),
        (mounting({"persistentVolumeClaim": {"claimName": "interlock-state"}}), "is the claim interlock-state"),
        (mounting({"secret": {"secretName": "interlock-tls"}}), "holds the secret interlock-tls"),
        (mounting({"projected": {"sources": [{"secret": {"name": "interlock-tls"}}]}}), "holds the secret interlock"),
        (
            {"containers": [agent(envFrom=[{"secretRef": {"name": "interlock-database"}}])]},
            "container agent has the secret interlock-database in its environment",
        ),
        (
            {
                "containers": [
                    agent(
                        env=[{"name": "P", "valueFrom": {"secretKeyRef": {"name": "interlock-database", "key": "k"}}}]
                    )
                ]
            },
            "container agent has the secret interlock-database in its environment",
        ),
        (mounting({"hostPath": {"path": "/"}}), "volume it shows / of the node"),
        (mounting({"hostPath": {"path": "/var/lib/kubelet/pods"}}), "volume it shows /var/lib/kubelet/pods"),
        (mounting({"hostPath": {"path": "/var/lib"}}), "volume it shows /var/lib of the node"),
        (mounting({"hostPath": {"path": "/var//lib/./kubelet/"}}), "of the node, through which"),
        (mounting({"hostPath": {"path": "/opt/../proc/1"}}), "of the node, through which"),
        (mounting({"hostPath": {"path": "/run/containerd/containerd.sock"}}), "of the node, through which"),
        (
            {"containers": [agent(ports=[{"containerPort": 7082}])]},
            "container agent listens on port 7082, as the gateway does",
        ),
        (
            {"containers": [agent(volumeMounts=[{"name": "it", "mountPath": "/run/interlock/"}])]},
            "container agent mounts it at /run/interlock, where it would reach the gateway",
        ),
        (
            {"containers": [agent(volumeMounts=[{"name": "it", "mountPath": "/run/interlock/agent.sock"}])]},
            "container agent mounts it at /run/interlock/agent.sock",
        ),
        # Kubernetes takes these from the root as well.
        *(
            ({"containers": [agent(volumeMounts=[{"name": "it", "mountPath": path}])]}, "mounts it at /run/interlock,")
            for path in ("run/interlock", "//run/interlock", "./run//interlock", "///run/x/../interlock")
        ),
        (
            {"containers": [agent(env=[{"name": "INTERLOCK_ADDRESS", "value": "elsewhere:7080"}])]},
            "container agent sets INTERLOCK_ADDRESS",
        ),
    ],
)
def test_a_pod_that_defeats_the_gateway_is_refused(spec: dict[str, Any], said: str) -> None:
    assert said in refusal_of(small_pod(**spec))


@pytest.mark.parametrize(
    ("annotation", "said"),
    [("nobody", "names nobody"), ("", "names nothing"), ("agent,,", "names nothing")],
)
def test_agents_that_are_not_there_are_refused(annotation: str, said: str) -> None:
    asking = small_pod()
    asking["metadata"]["annotations"] = {"interlock.dev/agents": annotation}
    assert said in refusal_of(asking)


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        (None, "holds no pod"),
        ({}, "spec: Field required"),
        ({"spec": {"containers": {"name": "agent"}}}, "spec.containers: Input should be a valid list"),
        ({"spec": {"containers": [{"name": 5}]}}, "spec.containers.0.name: Input should be a valid string"),
        ({"spec": {"containers": [{}]}}, "spec.containers.0.name: Field required"),
        ({"spec": {"containers": [], "hostNetwork": "yes"}}, "spec.hostNetwork: Input should be a valid boolean"),
        ({"metadata": [], "spec": {"containers": []}}, "metadata: Input should be"),
        ({"metadata": {"labels": {"a": 1}}, "spec": {}}, "metadata.labels.a: Input should be a valid string"),
    ],
)
def test_what_is_no_pod_is_refused(whole: Any, said: str) -> None:
    assert said in refusal_of(whole)


def test_every_reason_is_given_at_once() -> None:
    said = refusal_of(pod("node_exporter"))
    for part in ("hostNetwork", "hostPID", "volume proc shows /proc", "volume root shows /"):
        assert part in said
    assert "privileged" in refusal_of(pod("runner"))
    assert "/var/run/docker.sock" in refusal_of(pod("runner"))


@pytest.mark.parametrize(
    "spec",
    [
        {"initContainers": [{"name": "sysctl", "securityContext": {"privileged": True}}]},
        {"containers": adding("NET_BIND_SERVICE", "CHOWN")},
        {"hostNetwork": False, "hostPID": None, "shareProcessNamespace": False, "os": {"name": "linux"}},
        {"containers": [agent(securityContext={"privileged": False, "procMount": "Default"})]},
        {"containers": [agent(volumeMounts=[{"name": "it", "mountPath": "/run/interlock-else"}])]},
        {"containers": [agent(volumeMounts=[{"name": "it", "mountPath": "/run"}])]},
        {"containers": [agent(ports=[{"containerPort": 7082, "protocol": "UDP"}])]},
        {"volumes": [{"name": "unused", "hostPath": {"path": "/proc"}}]},
        mounting({"persistentVolumeClaim": {"claimName": "another"}}),
    ],
)
def test_what_does_not_reach_the_gateway_is_let_through(spec: dict[str, Any]) -> None:
    outcome, verdict = decided(small_pod(**spec))
    assert outcome is Outcome.INJECTED, verdict.refusal


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"containers": [agent(securityContext={"runAsUser": 65532, **DEAF})]},
            "agent runs as user 65532, as the gateway does",
        ),
        ({"securityContext": {"runAsUser": 65532}}, "agent runs as user 65532, as the gateway does"),
        (mounting({"hostPath": {"path": "/srv/data"}}, securityContext=DEAF), "volume it shows a part of the node"),
        ({"containers": [agent()]}, "container agent may hear what the gateway sends to providers"),
        ({"automountServiceAccountToken": None}, "what the agent does with the pod's service account"),
    ],
)
def test_what_is_worth_knowing_is_a_warning(spec: dict[str, Any], said: str) -> None:
    outcome, verdict = decided(small_pod(**spec))
    assert outcome is Outcome.INJECTED
    assert len(verdict.warnings) == 1
    assert said in verdict.warnings[0]


def test_a_quiet_pod_has_no_warnings() -> None:
    assert decided(small_pod())[1].warnings == ()
    own = agent(securityContext={"runAsUser": 1, **DEAF})
    own_user = small_pod(securityContext={"runAsUser": 65532}, containers=[own])
    assert decided(own_user)[1].warnings == ()


def test_a_refusal_never_carries_a_patch() -> None:
    assert not Verdict(refusal="no").allowed
    assert Verdict().allowed
