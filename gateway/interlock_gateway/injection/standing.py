"""Whether a pod has the sidecar already: not at all, wholly, or in part.

A pod comes again when other webhooks changed it after us, and when somebody makes a pod from what another one is. What
others may change about the sidecar is left alone: its image and its resources, which mirrors of registries and
autoscalers set. What holds the agent may not differ.
"""

from collections.abc import Iterator
from typing import Any

from interlock_gateway.injection.asking import AGENTS, INJECTED, unknown_agents
from interlock_gateway.injection.clashes import holds, in_our_place
from interlock_gateway.injection.pod import Pod, PodSpec
from interlock_gateway.injection.template import Template

_THE_SAME = ("restartPolicy", "command", "args")
_AT_LEAST = ("env", "envFrom", "volumeMounts", "securityContext")


def touched(pod: Pod, template: Template) -> bool:
    """Whether anything says that the pod was injected before: its annotation, or a sidecar of ours in its place."""
    names = {one.name for one in template.sidecars}
    return INJECTED in pod.metadata.annotations or any(
        one.name in names and one.runs_on for one in pod.spec.init_containers
    )


def missing(pod: Pod, whole: dict[str, Any], template: Template, agents: tuple[str, ...]) -> Iterator[str]:
    """What a pod that was injected lacks; nothing when it has all. `whole` is the pod as it was sent."""
    spec = whole["spec"]
    if pod.metadata.annotations.get(INJECTED, template.digest) != template.digest:
        yield "it was injected from another template than is in force now"
    for key in (INJECTED, AGENTS):
        if key not in pod.metadata.annotations:
            yield f"the annotation {key} is missing"
    for wanted in template.init_containers:
        yield from _container(wanted, spec)
    for wanted in template.volumes:
        if not any(holds(one, _without_sizes(wanted)) for one in spec.get("volumes") or []):
            yield f"the volume {wanted['name']} is missing, or is another"
    for container, read in zip(spec.get("containers") or [], pod.spec.containers, strict=True):
        if read.name in agents:
            yield from _agent(container, template)
            yield from in_our_place(read, template)
    yield from _strangers(pod, template)
    yield from unknown_agents(pod.spec, agents)


def without_ours(spec: PodSpec, template: Template) -> PodSpec:
    """The pod without what the template put into it."""
    containers = {one.name for one in template.containers}
    volumes = {one.name for one in template.read_volumes}
    return spec.model_copy(
        update={
            "init_containers": [one for one in spec.init_containers if one.name not in containers],
            "volumes": [one for one in spec.volumes if one.name not in volumes],
        }
    )


def _container(wanted: dict[str, Any], spec: dict[str, Any]) -> Iterator[str]:
    name = wanted["name"]
    there = [one for one in spec.get("initContainers") or [] if one.get("name") == name]
    if not there:
        yield f"the container {name} is missing"
    elif not _is_ours(there[0], wanted):
        yield f"the container {name} is not the gateway's"


def _is_ours(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    same = all((found.get(key) or None) == (wanted.get(key) or None) for key in _THE_SAME)
    return same and holds(found, {key: wanted[key] for key in _AT_LEAST if key in wanted})


def _agent(container: dict[str, Any], template: Template) -> Iterator[str]:
    wanted = {"volumeMounts": template.agent_volume_mounts, "env": template.agent_env}
    if not holds(container, wanted):
        yield f"container {container['name']} lacks mounts or variables that lead to the gateway"


def _strangers(pod: Pod, template: Template) -> Iterator[str]:
    """Mounts of the gateway's volumes that the template does not have."""
    volumes = {one.name for one in template.read_volumes}
    allowed = {(one.name, one.mount_path) for one in template.mounts}
    for container in without_ours(pod.spec, template).every_container:
        found = {(one.name, one.mount_path) for one in container.volume_mounts if one.name in volumes}
        found |= {(one.name, "") for one in container.volume_devices if one.name in volumes}
        for name, _path in sorted(found - allowed):
            yield f"container {container.name} mounts {name}, which is a volume of the gateway's"


def _without_sizes(volume: dict[str, Any]) -> dict[str, Any]:
    """The volume without quantities, which Kubernetes writes in its own way."""
    kept = {key: value for key, value in volume.items() if key != "emptyDir"}
    empty = volume.get("emptyDir")
    if isinstance(empty, dict):
        kept["emptyDir"] = {key: value for key, value in empty.items() if key != "sizeLimit"}
    return kept
