"""The Pod Security Standard `restricted`, as Kubernetes describes it, for pods that run on Linux."""

from collections.abc import Iterator

from rendering import Manifest, containers_of

VOLUMES = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
        "secret",
    }
)  # fmt: skip
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


def violations(spec: Manifest) -> Iterator[str]:
    """Why a pod would not be admitted in a namespace that enforces `restricted`; nothing when it would."""
    yield from (f"{name} is set" for name in HOST_NAMESPACES if spec.get(name))
    for volume in spec.get("volumes") or []:
        if extra := volume.keys() - VOLUMES - {"name"}:
            yield f"volume {volume['name']} is {', '.join(extra)}"
    pod = spec.get("securityContext") or {}
    if "sysctls" in pod:
        yield "sysctls are set"
    for container in containers_of(spec):
        yield from (f"{container['name']}: {why}" for why in _of_container(container, pod))


def _of_container(container: Manifest, pod: Manifest) -> Iterator[str]:
    own: Manifest = container.get("securityContext") or {}
    capabilities = own.get("capabilities") or {}
    seccomp = own.get("seccompProfile") or pod.get("seccompProfile") or {}
    refused = {
        "runAsNonRoot is not true": own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True,
        "runAsUser is 0": own.get("runAsUser", pod.get("runAsUser")) == 0,
        "seccompProfile is neither of two": seccomp.get("type") not in {"RuntimeDefault", "Localhost"},
        "allowPrivilegeEscalation is not false": own.get("allowPrivilegeEscalation") is not False,
        "privileged": bool(own.get("privileged")),
        "capabilities are not dropped": "ALL" not in (capabilities.get("drop") or []),
        "capabilities are added": bool(set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}),
        "procMount is set": own.get("procMount", "Default") != "Default",
        "hostPort is set": any(port.get("hostPort") for port in container.get("ports") or []),
        "seLinuxOptions are set": "seLinuxOptions" in own or "seLinuxOptions" in pod,
    }
    yield from (why for why, so in refused.items() if so)
