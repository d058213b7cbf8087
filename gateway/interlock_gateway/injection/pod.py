"""A pod, as far as it is looked at: what is not a pod's shape is refused, what is not looked at stays as it is."""

import posixpath
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

_Item = TypeVar("_Item")


def _there(value: Any) -> Any:
    return [] if value is None else value


def _there_by_name(value: Any) -> Any:
    return {} if value is None else value


# Kubernetes writes what is empty as null, or leaves it out.
Many = Annotated[list[_Item], BeforeValidator(_there), Field(default_factory=list)]
Name = Annotated[str, Field(min_length=1)]
Words = Annotated[dict[str, str], BeforeValidator(_there_by_name), Field(default_factory=dict)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, alias_generator=to_camel)


class Mount(_Part):
    """A volume, as a container mounts it."""

    name: Name
    mount_path: Name

    @property
    def place(self) -> str:
        """Where that is: Kubernetes takes a path without a slash in front, or with several, from the root."""
        return "/" + posixpath.normpath(f"/{self.mount_path}").lstrip("/")


class Device(_Part):
    """A volume, as a container has it as a block device."""

    name: Name


class Reference(_Part):
    """Another object of the namespace, or one key of it."""

    name: str = ""


class ValueSource(_Part):
    """Where a variable's value comes from."""

    secret_key_ref: Reference | None = None


class EnvironmentVariable(_Part):
    """One variable."""

    name: Name
    value_from: ValueSource | None = None


class EnvironmentSource(_Part):
    """Many variables from one object."""

    secret_ref: Reference | None = None


class Port(_Part):
    """A port on which a container says it listens."""

    container_port: int = 0
    protocol: str | None = None


class Capabilities(_Part):
    """What a container may do beyond, or less than, others."""

    add: Many[str]
    drop: Many[str]


class Security(_Part):
    """A security context, of a pod or of a container."""

    privileged: bool | None = None
    proc_mount: str | None = None
    run_as_user: int | None = None
    capabilities: Capabilities | None = None


class Container(_Part):
    """A container."""

    name: Name
    restart_policy: str | None = None
    volume_mounts: Many[Mount]
    volume_devices: Many[Device]
    env: Many[EnvironmentVariable]
    env_from: Many[EnvironmentSource]
    ports: Many[Port]
    security_context: Security | None = None

    @property
    def runs_on(self) -> bool:
        """Whether an init container goes on running beside the others."""
        return self.restart_policy == "Always"

    @property
    def volumes(self) -> set[str]:
        """The names of the volumes that it sees."""
        return {one.name for one in self.volume_mounts} | {one.name for one in self.volume_devices}

    @property
    def secrets(self) -> set[str]:
        """The names of the secrets in its environment."""
        found = [one.value_from.secret_key_ref for one in self.env if one.value_from is not None]
        found += [one.secret_ref for one in self.env_from]
        return {secret.name for secret in found if secret is not None}


class HostPath(_Part):
    """A directory or file of the node."""

    path: str = ""


class Claim(_Part):
    """A claim on a persistent volume."""

    claim_name: str = ""


class SecretVolume(_Part):
    """A secret as files."""

    secret_name: str | None = None


class Projection(_Part):
    """A part of a projected volume."""

    secret: Reference | None = None


class Projected(_Part):
    """Several sources as the files of one volume."""

    sources: Many[Projection]


class Volume(_Part):
    """A volume."""

    name: Name
    host_path: HostPath | None = None
    persistent_volume_claim: Claim | None = None
    secret: SecretVolume | None = None
    projected: Projected | None = None

    @property
    def secrets(self) -> set[str]:
        """The names of the secrets that are files in it."""
        whole = {self.secret.secret_name or ""} if self.secret is not None else set()
        parts = self.projected.sources if self.projected is not None else []
        return (whole | {one.secret.name for one in parts if one.secret is not None}) - {""}

    @property
    def claim(self) -> str:
        """The claim that it stands for; empty for none."""
        return self.persistent_volume_claim.claim_name if self.persistent_volume_claim is not None else ""


class OperatingSystem(_Part):
    """What the pod is made for."""

    name: str = ""


class PodSpec(_Part):
    """What a pod is made of."""

    containers: Many[Container]
    init_containers: Many[Container]
    ephemeral_containers: Many[Container]
    volumes: Many[Volume]
    host_network: bool | None = None
    host_pid: bool | None = Field(None, alias="hostPID")
    host_ipc: bool | None = Field(None, alias="hostIPC")
    share_process_namespace: bool | None = None
    automount_service_account_token: bool | None = None
    os: OperatingSystem | None = None
    node_selector: Words
    security_context: Security | None = None

    @property
    def every_container(self) -> list[Container]:
        """All containers, of every kind."""
        return [*self.init_containers, *self.containers, *self.ephemeral_containers]

    @property
    def beside(self) -> list[Container]:
        """The containers that run while the agent does."""
        return [*(one for one in self.init_containers if one.runs_on), *self.containers, *self.ephemeral_containers]


class Metadata(_Part):
    """What is said of a pod."""

    name: str | None = None
    generate_name: str | None = None
    labels: Words
    annotations: Words


class Pod(_Part):
    """A pod before it is made."""

    metadata: Metadata = Field(default_factory=lambda: Metadata.model_validate({}))
    spec: PodSpec


def in_words(error: ValidationError) -> str:
    """The first thing that is wrong, with its place, without the value that stands there."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}"
