"""A pod's containers as processes here: its volumes are directories, and its paths lead into them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rendering import Manifest, containers_of
from waiting import eventually_blocking

PATIENCE_S = 60.0
INTERLOCK = (sys.executable, "-m", "interlock_gateway.cli.main")
STATUS = health_pb2.HealthCheckResponse.ServingStatus


@dataclass
class LocalPod:
    """One pod. `directory` has to be short, because of the sockets in it.

    `secrets` are those that it names, and `programs` what containers run that name no command, by the container's name.
    """

    spec: Manifest
    config_maps: dict[str, dict[str, str]]
    directory: Path
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    programs: Mapping[str, Path] = field(default_factory=dict)
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the volumes, with what belongs into them."""
        for volume in self.spec["volumes"]:
            place = self.directory / volume["name"].removeprefix("interlock-")
            place.mkdir()
            source = volume.get("configMap") or volume.get("secret") or {}
            keys = self.config_maps.get(source.get("name", ""), self.secrets.get(source.get("secretName", ""), {}))
            items = source.get("items") or [{"key": key, "path": key} for key in keys]
            for item in items if keys else ():
                (place / item["path"]).parent.mkdir(parents=True, exist_ok=True)
                (place / item["path"]).write_text(self.here(keys[item["key"]]))

    def here(self, text: str) -> str:
        """`text` with the paths of containers as they are here; longer ones first, since some are below others."""
        places = {}
        for container in containers_of(self.spec):
            for mount in container.get("volumeMounts", []):
                volume = self.directory / mount["name"].removeprefix("interlock-")
                places[mount["mountPath"]] = str(volume / mount.get("subPath", ""))
        longest_first = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
        return re.sub(longest_first, lambda found: places[found.group()], text)

    def container(self, name: str) -> Manifest:
        """A container's manifest."""
        return next(one for one in containers_of(self.spec) if one["name"] == name)

    def environment(self, name: str) -> dict[str, str]:
        """The variables of a container, as they are here."""
        given = self.container(name).get("env", [])
        return {one["name"]: self.here(one["value"]) if "value" in one else self._secret(one) for one in given}

    def _secret(self, variable: Manifest) -> str:
        named = variable["valueFrom"]["secretKeyRef"]
        return self.secrets[named["name"]][named["key"]]

    def start(self, name: str) -> None:
        """Run a container's command."""
        container = self.container(name)
        program: tuple[str, ...] = INTERLOCK
        if name in self.programs:
            program = (str(self.programs[name]),)
        else:
            assert container["command"] == ["interlock"]
        command = [*program, *(self.here(one) for one in container["args"])]
        with (self.directory / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(command, env=self._whole_environment(name), stdout=log, stderr=log)

    def executed(self, name: str, *arguments: str) -> str:
        """What `interlock` prints, run as `kubectl exec` does in a container."""
        command = [*INTERLOCK, *arguments]
        ended = subprocess.run(
            command, env=self._whole_environment(name), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def _whole_environment(self, name: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self.environment(name)}

    def log(self, name: str) -> str:
        """What a container said."""
        return (self.directory / f"{name}.log").read_text()

    def wait_for(self, name: str, probe: str) -> None:
        """Return once a probe succeeds."""
        eventually_blocking(lambda: self.alive(name) and self.probed(name, probe) == STATUS.SERVING, PATIENCE_S)

    def alive(self, name: str) -> bool:
        """Whether it runs; it is an error when it does not."""
        assert self.processes[name].poll() is None, self.log(name)
        return True

    def probed(self, name: str, probe: str) -> Any:
        """What the kubelet would be told; `None` when nobody answers."""
        asked = self.container(name)[probe]["grpc"]
        with grpc.insecure_channel(f"127.0.0.1:{asked['port']}") as channel:
            health = health_pb2_grpc.HealthStub(channel)
            try:
                return health.Check(health_pb2.HealthCheckRequest(service=asked["service"]), timeout=2).status
            except grpc.RpcError:
                return None

    def terminate(self, name: str) -> None:
        """Send SIGTERM, as the kubelet does."""
        self.processes[name].send_signal(signal.SIGTERM)

    def ended(self, name: str) -> int:
        """Wait until it has ended; its exit code."""
        return self.processes[name].wait(PATIENCE_S)


@contextmanager
def running_pod(
    spec: Manifest,
    manifests: list[Manifest],
    directory: Path,
    *,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    programs: Mapping[str, Path] | None = None,
) -> Iterator[LocalPod]:
    """A pod whose processes end with the block."""
    config_maps = {one["metadata"]["name"]: one["data"] for one in manifests if one["kind"] == "ConfigMap"}
    pod = LocalPod(spec, config_maps, directory, secrets or {}, programs or {})
    try:
        yield pod
    finally:
        for process in pod.processes.values():
            process.kill()
            process.wait()
