"""The JSON patch (RFC 6902) that puts a template into a pod."""

from collections.abc import Iterator
from typing import Any

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.injection.asking import AGENTS, INJECTED
from interlock_gateway.injection.template import Template


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901).

    >>> pointer("metadata", "annotations", "interlock.dev/injected")
    '/metadata/annotations/interlock.dev~1injected'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def patch_for(whole: dict[str, Any], template: Template, agents: tuple[str, ...]) -> tuple[JsonObject, ...]:
    """The operations, in order; `whole` is the pod as it was sent, and into which nothing of the template was put."""
    return tuple(_operations(whole, template, agents))


def _operations(whole: dict[str, Any], template: Template, agents: tuple[str, ...]) -> Iterator[JsonObject]:
    spec = whole["spec"]
    yield from _annotated(whole, {INJECTED: template.digest, AGENTS: ",".join(agents)})
    # First, so that the gateway is up before anything else of the pod runs.
    yield from _in_front(spec, ("spec", "initContainers"), template.init_containers)
    yield from _at_the_end(spec, ("spec", "volumes"), template.volumes)
    for index, container in enumerate(spec["containers"]):
        if container["name"] in agents:
            place = ("spec", "containers", index)
            yield from _at_the_end(container, (*place, "volumeMounts"), template.agent_volume_mounts)
            # In front, so that the pod's own variables may refer to them.
            yield from _in_front(container, (*place, "env"), template.agent_env)


def _annotated(whole: dict[str, Any], said: dict[str, str]) -> Iterator[JsonObject]:
    metadata = whole.get("metadata")
    if not metadata:
        yield _add(("metadata",), {"annotations": dict(said)})
    elif not metadata.get("annotations"):
        yield _add(("metadata", "annotations"), dict(said))
    else:
        yield from (_add(("metadata", "annotations", key), value) for key, value in said.items())


def _in_front(parent: dict[str, Any], path: tuple[str | int, ...], items: list[dict[str, Any]]) -> Iterator[JsonObject]:
    if items and not parent.get(str(path[-1])):
        yield _add(path, items)
    else:
        yield from (_add((*path, index), item) for index, item in enumerate(items))


def _at_the_end(
    parent: dict[str, Any], path: tuple[str | int, ...], items: list[dict[str, Any]]
) -> Iterator[JsonObject]:
    if items and not parent.get(str(path[-1])):
        yield _add(path, items)
    else:
        yield from (_add((*path, "-"), item) for item in items)


def _add(path: tuple[str | int, ...], value: Any) -> JsonObject:
    return {"op": "add", "path": pointer(*path), "value": value}
