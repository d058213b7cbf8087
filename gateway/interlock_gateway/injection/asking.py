"""Whether a pod asks for the sidecar, and which of its containers are the agent's."""

from collections.abc import Iterator
from enum import StrEnum

from interlock_gateway.injection.pod import Pod, PodSpec

LABEL = "interlock.dev/inject"
AGENTS = "interlock.dev/agents"
"""An annotation: the containers that reach the gateway, by name, with commas between; without it, all of them."""
INJECTED = "interlock.dev/injected"
"""An annotation of pods that were injected: the template's digest."""


class Wish(StrEnum):
    """What a pod's label says."""

    INJECT = "inject"
    LEAVE_ALONE = "leave_alone"
    UNCLEAR = "unclear"


def wish_of(pod: Pod) -> Wish:
    """What the pod's label says. One without it is here because its namespace has it: the API server chose it."""
    said = pod.metadata.labels.get(LABEL)
    if said is None or said == "true":
        return Wish.INJECT
    return Wish.LEAVE_ALONE if said == "false" else Wish.UNCLEAR


def agents_of(pod: Pod) -> tuple[str, ...]:
    """The names of the agent's containers, in the pod's order, whether there are such containers or not."""
    said = pod.metadata.annotations.get(AGENTS)
    if said is None:
        return tuple(one.name for one in pod.spec.containers)
    return tuple(dict.fromkeys(name.strip() for name in said.split(",")))


def unknown_agents(spec: PodSpec, agents: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with these names; nothing when each is a container of the pod, and there is one."""
    there = {one.name for one in spec.containers}
    if not there:
        yield "the pod has no containers"
    for name in agents:
        if name not in there:
            yield f"{AGENTS} names {name or 'nothing'}, and there is no such container"
