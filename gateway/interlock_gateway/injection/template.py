"""What is put into a pod: the chart makes it, from the same parts as the sidecar that it renders by itself."""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.injection.files import read_file
from interlock_gateway.injection.pod import Container, EnvironmentVariable, Mount, Volume, in_words

_Model = TypeVar("_Model", bound=BaseModel)
GATEWAY_ONLY = ("/var/lib/interlock", "/etc/interlock")
"""Where the sidecar has its state, its keys and its configuration: what it mounts there no agent may mount."""
SIDECAR_USER = 65532
"""The user of the image, for a sidecar that names none."""


class Template(BaseModel):
    """What is put into a pod, in the words of Kubernetes. The items of each list are taken over as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel)

    init_containers: list[dict[str, Any]] = Field(min_length=1)
    """Put before the pod's own init containers, in this order; those with `restartPolicy: Always` are the sidecars."""
    volumes: list[dict[str, Any]] = []
    agent_volume_mounts: list[dict[str, Any]] = []
    """What each of the agent's containers mounts."""
    agent_env: list[dict[str, Any]] = []
    """What stands before the environment of each of the agent's containers."""
    image_mirrors: list[str] = []
    """Where else the images may come from, such as `mirror.example/docker`, when another webhook sees to that."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Template":
        if problems := list(self._problems()):
            raise ValueError("; ".join(problems))
        return self

    @property
    def containers(self) -> list[Container]:
        """The containers, read."""
        return _read(Container, self.init_containers, "initContainers")

    @property
    def sidecars(self) -> list[Container]:
        """Those that run beside the agent."""
        return [one for one in self.containers if one.runs_on]

    @property
    def read_volumes(self) -> list[Volume]:
        """The volumes, read."""
        return _read(Volume, self.volumes, "volumes")

    @property
    def mounts(self) -> list[Mount]:
        """The agent's mounts, read."""
        return _read(Mount, self.agent_volume_mounts, "agentVolumeMounts")

    @property
    def environment(self) -> list[EnvironmentVariable]:
        """The agent's variables, read."""
        return _read(EnvironmentVariable, self.agent_env, "agentEnv")

    @property
    def digest(self) -> str:
        """Which template this is: 16 hexadecimal digits."""
        whole: JsonObject = self.model_dump(by_alias=True)
        return sha256(rfc8785.dumps(whole)).hexdigest()[:16]

    def _problems(self) -> Iterator[str]:
        if not self.sidecars:
            yield "initContainers needs one with restartPolicy: Always, which is what makes it a sidecar"
        yield from _twice("initContainers", [one.name for one in self.containers])
        yield from _twice("volumes", [one.name for one in self.read_volumes])
        yield from _twice("agentVolumeMounts", [one.mount_path for one in self.mounts])
        yield from _twice("agentEnv", [one.name for one in self.environment])
        known = {one.name for one in self.read_volumes}
        for mount in self.mounts:
            if mount.name not in known:
                yield f"agentVolumeMounts mounts {mount.name}, which is none of volumes"
        for mount in self.mounts:
            for place in self._private_places(mount.name):
                yield f"agentVolumeMounts mounts {mount.name}, which the sidecar has at {place}: no agent may see that"

    def _private_places(self, volume: str) -> Iterator[str]:
        """Where the sidecar mounts `volume`, as far as that is the gateway's own."""
        for container in self.containers:
            for mount in container.volume_mounts:
                if mount.name == volume and any(f"{mount.place}/".startswith(f"{place}/") for place in GATEWAY_ONLY):
                    yield mount.place


def load_template(file: Path) -> Template:
    """The template in `file`. Raises `InvalidConfigError` with every problem, each with its line."""
    return read_file(file, Template)


def _twice(where: str, names: list[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{where} holds {name} more than once"


def _read(model: type[_Model], items: list[dict[str, Any]], where: str) -> list[_Model]:
    """The items, read. Raises `ValueError` with a sentence for one that has another shape."""
    found = []
    for index, item in enumerate(items):
        try:
            found.append(model.model_validate(item))
        except ValidationError as error:
            raise ValueError(f"{where}[{index}].{in_words(error)}") from None
    return found
