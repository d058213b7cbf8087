"""What in a pod has the place that something of the template needs."""

from collections.abc import Iterator
from typing import Any

from interlock_gateway.injection.asking import unknown_agents
from interlock_gateway.injection.pod import Container, PodSpec
from interlock_gateway.injection.template import Template


def clashes(spec: PodSpec, template: Template, agents: tuple[str, ...]) -> Iterator[str]:
    """Why the template does not fit into this pod; nothing when it does."""
    yield from _names(spec, template)
    yield from unknown_agents(spec, agents)
    yield from ports(spec, template)
    for container in spec.containers:
        if container.name in agents:
            yield from in_our_place(container, template)
            yield from _variables(container, template)


def _names(spec: PodSpec, template: Template) -> Iterator[str]:
    containers = {one.name for one in template.containers}
    volumes = {one.name for one in template.read_volumes}
    for container in spec.every_container:
        if container.name in containers:
            yield f"a container is named {container.name}, as one of the gateway's is"
        # The pod names no such volume, but would have it as soon as the sidecar is there.
        for name in sorted(container.volumes & volumes):
            yield f"container {container.name} mounts {name}, which is a volume of the gateway's"
    for volume in spec.volumes:
        if volume.name in volumes:
            yield f"a volume is named {volume.name}, as one of the gateway's is"


def ports(spec: PodSpec, template: Template) -> Iterator[str]:
    """What listens beside the gateway where it does."""
    taken = {(one.container_port, one.protocol or "TCP") for sidecar in template.sidecars for one in sidecar.ports}
    for container in spec.beside:
        for port in container.ports:
            if (port.container_port, port.protocol or "TCP") in taken:
                yield f"container {container.name} listens on port {port.container_port}, as the gateway does"


def in_our_place(container: Container, template: Template) -> Iterator[str]:
    """What a container of the agent's mounts where the template's mounts are, or below them, beside those."""
    ours = [one.place for one in template.mounts]
    for mount in container.volume_mounts:
        if mount not in template.mounts and any(f"{mount.place}/".startswith(f"{our}/") for our in ours):
            yield f"container {container.name} mounts {mount.name} at {mount.place}, where it would reach the gateway"


def _variables(container: Container, template: Template) -> Iterator[str]:
    ours = {one.name for one in template.environment}
    for variable in container.env:
        if variable.name in ours:
            yield f"container {container.name} sets {variable.name}, which says where the gateway is"


def holds(found: Any, wanted: Any) -> bool:
    """Whether `found` says all that `wanted` does. Others may add to it; what Kubernetes leaves out is nothing.

    Items of lists that have a name (or a path where they are mounted) are found by it, others by their place.
    """
    if isinstance(wanted, dict):
        there = found if isinstance(found, dict) else {}
        return all(holds(there.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        there_in_order = found if isinstance(found, list) else []
        return _holds_items(there_in_order, wanted)
    return bool(found == wanted and type(found) is type(wanted)) or (not found and not wanted)


def _holds_items(found: list[Any], wanted: list[Any]) -> bool:
    if any(not isinstance(item, dict) for item in wanted):
        return found == wanted
    return all(_holds_item([one for one in found if _same_name(one, item)], item) for item in wanted)


def _holds_item(found: list[Any], item: dict[str, Any]) -> bool:
    # Of two variables with one name the last counts, so that each has to be the one that is wanted.
    enough = all if "name" in item else any
    return bool(found) and enough(holds(one, item) for one in found)


def _same_name(one: Any, other: dict[str, Any]) -> bool:
    return isinstance(one, dict) and all(one.get(key) == other.get(key) for key in ("name", "mountPath"))
