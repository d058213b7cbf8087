"""Whether a pod has the sidecar already: not at all, wholly, or in part.

A pod comes again when other webhooks changed it after us, and when somebody makes a pod from what another one is. That
something of ours is there says nothing about who put it there: it is compared with what we would have put. Others may
change resources, take the image from a known mirror, and add what they add everywhere; see `likeness`.
"""

from collections.abc import Iterator
from typing import Any

from interlock_gateway.injection.asking import AGENTS, INJECTED, unknown_agents
from interlock_gateway.injection.clashes import holds, in_our_place, ports
from interlock_gateway.injection.likeness import same, same_volume, unlike
from interlock_gateway.injection.pod import Pod, PodSpec
from interlock_gateway.injection.template import Template


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
        yield from _container(wanted, spec, template)
    for wanted in template.volumes:
        if not any(same_volume(one, wanted) for one in spec.get("volumes") or []):
            yield f"the volume {wanted['name']} is missing, or is another"
    for container, read in zip(spec.get("containers") or [], pod.spec.containers, strict=True):
        if read.name in agents:
            yield from _agent(container, template)
            yield from in_our_place(read, template)
    yield from _strangers(pod, template, agents)
    yield from ports(without_ours(pod.spec, template), template)
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


def _container(wanted: dict[str, Any], spec: dict[str, Any], template: Template) -> Iterator[str]:
    name = wanted["name"]
    there = [one for one in spec.get("initContainers") or [] if one.get("name") == name]
    if not there:
        yield f"the container {name} is missing"
        return
    volumes = {one.name for one in template.read_volumes}
    if found := list(unlike(there[0], wanted, volumes=volumes, mirrors=template.image_mirrors)):
        yield f"the container {name} is not the gateway's: {', '.join(found)}"


def _agent(container: dict[str, Any], template: Template) -> Iterator[str]:
    wanted = {"volumeMounts": template.agent_volume_mounts, "env": template.agent_env}
    if not holds(container, wanted) or not all(
        any(same(one, mount) for one in container.get("volumeMounts") or []) for mount in template.agent_volume_mounts
    ):
        yield f"container {container['name']} lacks mounts or variables that lead to the gateway"


def _strangers(pod: Pod, template: Template, agents: tuple[str, ...]) -> Iterator[str]:
    """Mounts of the gateway's volumes that the template does not have, or that are not the agent's."""
    volumes = {one.name for one in template.read_volumes}
    of_agents = {(one.name, one.mount_path) for one in template.mounts}
    rest = without_ours(pod.spec, template)
    for container in rest.every_container:
        allowed = of_agents if container in rest.containers and container.name in agents else set()
        found = {(one.name, one.mount_path) for one in container.volume_mounts if one.name in volumes}
        found |= {(one.name, "") for one in container.volume_devices if one.name in volumes}
        for name, _path in sorted(found - allowed):
            yield f"container {container.name} mounts {name}, which is a volume of the gateway's"
