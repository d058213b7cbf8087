"""What in a pod would defeat the gateway beside it, and what might.

The gateway holds an agent to policy only while the agent cannot reach around it: into its memory, its files, its
network or the node. Who writes a pod is trusted; what runs in the agent's container is not. So only containers that run
while the agent does are looked at, not init containers that have ended by then.
"""

import posixpath
from collections.abc import Iterator
from typing import Literal

from interlock_gateway.injection.pod import Container, PodSpec, Security, Volume
from interlock_gateway.injection.template import SIDECAR_USER, Template

DANGEROUS_CAPABILITIES = frozenset(
    {
        "ALL", "BPF", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH", "MAC_ADMIN", "NET_ADMIN", "NET_RAW", "PERFMON",
        "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO",
    }
)  # fmt: skip
"""With one of these a container leaves its walls, or hears or changes the network that it shares with the gateway."""
WAYS_TO_THE_NODE = (
    "/proc", "/sys", "/dev", "/run", "/var/run", "/etc/kubernetes",
    "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers", "/var/lib/crio", "/var/lib/docker",
    "/var/lib/rancher", "/var/lib/k0s", "/var/snap",
)  # fmt: skip
"""Where a node has other pods' files, its processes, its devices and the sockets that start containers."""


def dangers(spec: PodSpec, template: Template) -> Iterator[str]:
    """Why the sidecar would not hold this pod; nothing when it would."""
    yield from _shared_with_the_node(spec)
    if spec.share_process_namespace:
        yield "shareProcessNamespace lets the agent read the gateway's memory, environment and files"
    for container in spec.beside:
        yield from _powers(container)
    yield from _ways_to_the_node(spec)
    yield from _the_gateways_own(spec, template)


def warnings(spec: PodSpec, template: Template, agents: tuple[str, ...]) -> Iterator[str]:
    """What is let through, and should be known."""
    users = {_user_of(one.security_context) for one in template.sidecars} - {None} or {SIDECAR_USER}
    for container in spec.containers:
        user = _user_of(container.security_context) or _user_of(spec.security_context)
        if container.name in agents and user in users:
            yield f"container {container.name} runs as user {user}, as the gateway does: give it one of its own"
        if container.name in agents and not _named(container, "drop") & {"ALL", "NET_RAW"}:
            yield (
                f"container {container.name} may hear what the gateway sends to providers, tokens too, unless that is "
                "encrypted: drop the capability NET_RAW"
            )
    for volume in _seen_beside(spec):
        if volume.host_path is not None:
            yield f"volume {volume.name} shows a part of the node, where the gateway governs nothing"
    if spec.automount_service_account_token is not False:
        yield (
            "automountServiceAccountToken is not false: what the agent does with the pod's service account, "
            "the gateway does not see"
        )


def _user_of(security: Security | None) -> int | None:
    return security.run_as_user if security is not None else None


def _shared_with_the_node(spec: PodSpec) -> Iterator[str]:
    if spec.host_network:
        yield "hostNetwork takes the pod out of its network policies: the agent would reach everything without asking"
    if spec.host_pid:
        yield "hostPID lets the agent see the gateway's process, and the node's"
    if spec.host_ipc:
        yield "hostIPC lets the agent reach the memory that the node's processes share"
    systems = {spec.os.name if spec.os is not None else "", spec.node_selector.get("kubernetes.io/os", "")}
    if "windows" in systems:
        yield "the sidecar runs on Linux, and this pod asks for Windows"


def _powers(container: Container) -> Iterator[str]:
    security = container.security_context
    if security is None:
        return
    if security.privileged:
        yield f"container {container.name} is privileged: it could leave its walls"
    if security.proc_mount not in (None, "", "Default"):
        yield f"container {container.name} has procMount: {security.proc_mount}, which uncovers the node's /proc"
    if found := sorted(_named(container, "add") & DANGEROUS_CAPABILITIES):
        yield f"container {container.name} adds {', '.join(found)}, with which it could get at the gateway"


def _named(container: Container, which: Literal["add", "drop"]) -> set[str]:
    """The capabilities that the container adds, or drops."""
    security = container.security_context
    found = security.capabilities if security is not None else None
    names = [] if found is None else found.add if which == "add" else found.drop
    return {name.upper().removeprefix("CAP_") for name in names}


def _ways_to_the_node(spec: PodSpec) -> Iterator[str]:
    for volume in _seen_beside(spec):
        path = volume.host_path.path if volume.host_path is not None else ""
        if path and any(_overlap(path, way) for way in WAYS_TO_THE_NODE):
            yield f"volume {volume.name} shows {path} of the node, through which the gateway's files can be reached"


def _the_gateways_own(spec: PodSpec, template: Template) -> Iterator[str]:
    ours = template.read_volumes
    claims = {one.claim for one in ours} - {""}
    paths = [one.host_path.path for one in ours if one.host_path is not None]
    secrets = {name for volume in ours for name in volume.secrets}
    secrets |= {name for container in template.containers for name in container.secrets}
    for volume in spec.volumes:
        if volume.claim in claims:
            yield f"volume {volume.name} is the claim {volume.claim}, which the gateway uses"
        if volume.host_path is not None and any(_overlap(volume.host_path.path, path) for path in paths):
            yield f"volume {volume.name} shows {volume.host_path.path} of the node, which the gateway uses"
        for name in sorted(volume.secrets & secrets):
            yield f"volume {volume.name} holds the secret {name}, which is the gateway's"
    for container in spec.every_container:
        for name in sorted(container.secrets & secrets):
            yield f"container {container.name} has the secret {name} in its environment, which is the gateway's"


def _seen_beside(spec: PodSpec) -> list[Volume]:
    seen = {name for container in spec.beside for name in container.volumes}
    return [volume for volume in spec.volumes if volume.name in seen]


def _overlap(one: str, other: str) -> bool:
    """Whether one path is the other, or leads to it."""
    first, second = (posixpath.normpath(f"/{path}").lstrip("/") + "/" for path in (one, other))
    return first == "/" or second == "/" or first.startswith(second) or second.startswith(first)
