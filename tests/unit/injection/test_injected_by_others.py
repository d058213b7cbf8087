"""What stands under the gateway's names in a pod that comes again is compared with what we would have put (K8S-1)."""

from collections.abc import Callable
from typing import Any

import pytest
from interlock_gateway.injection.deciding import Outcome
from reviewing import decided, injected, pod, refusal_of, template

pytestmark = pytest.mark.req("K8S-1")
PINNED = "@sha256:" + 64 * "0"
Change = Callable[[dict[str, Any]], Any]


def gateway(spec: dict[str, Any]) -> dict[str, Any]:
    """The gateway's container."""
    found: dict[str, Any] = spec["initContainers"][1]
    return found


def volume(spec: dict[str, Any], name: str) -> dict[str, Any]:
    """One of the pod's volumes."""
    found: dict[str, Any] = next(one for one in spec["volumes"] if one["name"] == name)
    return found


def replaced(spec: dict[str, Any], name: str, **source: Any) -> None:
    """Put another volume in the place of the one with that name."""
    found = volume(spec, name)
    found.clear()
    found.update(name=name, **source)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda spec: gateway(spec).update(image="evil.example/interlock:0.1.0"), "its image is not registry.example"),
        (lambda spec: gateway(spec).update(image="registry.example/interlock:0.0.9"), "its image is not registry"),
        (lambda spec: gateway(spec).update(workingDir="/mnt"), "its workingDir was added and is not what is put there"),
        (
            lambda spec: gateway(spec).update(lifecycle={"postStart": {"exec": {"command": ["sh"]}}}),
            "its lifecycle was added",
        ),
        (lambda spec: gateway(spec).update(livenessProbe={"exec": {"command": ["sh"]}}), "its livenessProbe was added"),
        (
            lambda spec: gateway(spec).update(startupProbe={"exec": {"command": ["sh"]}}),
            "its startupProbe is not what is put there",
        ),
        (
            lambda spec: gateway(spec)["securityContext"].update(privileged=True),
            "its securityContext is not what is put there",
        ),
        (
            lambda spec: gateway(spec)["securityContext"].pop("allowPrivilegeEscalation"),
            "its securityContext is not what is put there",
        ),
        (
            lambda spec: gateway(spec)["securityContext"]["capabilities"].update(add=["SYS_PTRACE"]),
            "its securityContext is not what is put there",
        ),
        (
            lambda spec: gateway(spec)["envFrom"].append({"configMapRef": {"name": "late"}}),
            "its envFrom is not what is put there",
        ),
        (
            lambda spec: gateway(spec)["env"].append({"name": "INTERLOCK__POLICY__PROFILE", "value": "observe"}),
            "the variable INTERLOCK__POLICY__PROFILE was added to it",
        ),
        (
            lambda spec: gateway(spec)["env"].append({"name": "PYTHONPATH", "value": "/mnt"}),
            "the variable PYTHONPATH was added to it",
        ),
        (
            lambda spec: gateway(spec)["env"].append({"name": "LD_PRELOAD", "value": "/mnt/x.so"}),
            "the variable LD_PRELOAD was added to it",
        ),
        (lambda spec: gateway(spec)["env"].pop(0), "its variable INTERLOCK_CONFIG is missing"),
        (
            lambda spec: gateway(spec)["volumeMounts"].append({"name": "late", "mountPath": "/opt/interlock"}),
            "late was mounted in it at /opt/interlock",
        ),
        (
            lambda spec: gateway(spec)["volumeMounts"].append({"name": "late", "mountPath": "/etc/interlock/overlay"}),
            "late was mounted in it at /etc/interlock/overlay",
        ),
        (
            lambda spec: gateway(spec)["volumeMounts"].append({"name": "late", "mountPath": "/mnt/../run/interlock/x"}),
            "late was mounted in it at /run/interlock/x",
        ),
        (
            lambda spec: gateway(spec)["volumeMounts"].append({"name": "interlock-state", "mountPath": "/mnt/state"}),
            "interlock-state was mounted in it at /mnt/state",
        ),
        (
            lambda spec: gateway(spec)["volumeMounts"][0].update(subPath="another.yaml"),
            "its mount at /etc/interlock/interlock.yaml is missing, or is another",
        ),
        (
            lambda spec: replaced(spec, "interlock-tmp", hostPath={"path": "/srv"}),
            "the volume interlock-tmp is missing",
        ),
        (
            lambda spec: volume(spec, "interlock-config")["configMap"].update(
                items=[{"key": "late.yaml", "path": "interlock.yaml"}]
            ),
            "the volume interlock-config is missing, or is another",
        ),
        (
            lambda spec: spec["containers"][0]["volumeMounts"][-1].update(subPath="late"),
            "container agent lacks mounts or variables",
        ),
        (
            lambda spec: spec["containers"].append(
                {
                    "name": "late",
                    "image": "l",
                    "volumeMounts": [{"name": "interlock-socket", "mountPath": "/run/interlock"}],
                }
            ),
            "container late mounts interlock-socket, which is a volume of the gateway's",
        ),
        (
            lambda spec: spec["containers"].append(
                {"name": "late", "image": "late", "ports": [{"containerPort": 7082}]}
            ),
            "container late listens on port 7082, as the gateway does",
        ),
    ],
)
def test_a_sidecar_that_is_another_than_ours_is_refused_with_what_is_not_ours(change: Change, said: str) -> None:
    again = injected(pod("deployment"))
    change(again["spec"])
    assert said in refusal_of(again)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: gateway(spec).update(image=f"registry.example/interlock:0.1.0{PINNED}"),
        lambda spec: gateway(spec).update(image="mirror.example/docker/interlock:0.1.0"),
        lambda spec: gateway(spec).update(imagePullPolicy="Always"),
        lambda spec: gateway(spec).update(resources={"limits": {"memory": "3Gi"}}),
        lambda spec: gateway(spec).update(
            terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File", stdin=False
        ),
        lambda spec: gateway(spec)["startupProbe"].update(timeoutSeconds=1, successThreshold=1),
        lambda spec: volume(spec, "interlock-config")["configMap"].update(defaultMode=420),
        # What the cluster's own webhooks give to every container: tokens, and the names of roles.
        lambda spec: gateway(spec)["volumeMounts"].append(
            {
                "name": "kube-api-access-x",
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "readOnly": True,
            }
        ),
        lambda spec: gateway(spec)["env"].append({"name": "AWS_ROLE_ARN", "value": "arn:aws:iam::1:role/x"}),
    ],
)
def test_what_a_cluster_changes_in_every_pod_is_left_alone(change: Change) -> None:
    made = template().model_copy(update={"image_mirrors": ["mirror.example/docker/"]})
    again = injected(pod("deployment"), made)
    change(again["spec"])
    outcome, verdict = decided(again, made)
    assert outcome is Outcome.ALREADY, verdict.refusal
