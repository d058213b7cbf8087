"""What the chart renders is started: the sidecar beside an agent, with the toolbox."""

import asyncio
import json
import stat
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from interlock import CallStatus, Gateway, Session
from opa_process import free_port
from pod_on_this_machine import STATUS, running_pod
from rendering import Helm, Manifest, Values, example, gateway_config, pod_specs
from waiting import eventually_so

# What a decision may take is not what is tried here, and other tests may run beside.
PATIENT: Values = {"config": {"policy": {"timeout_s": 10, "opa": {"timeout_s": 10}}}}


@pytest.mark.req("K8S-1", "K8S-3")
async def test_an_agent_calls_tools_through_the_sidecar_that_was_rendered_and_the_sidecar_drains(
    helm: Helm, socket_directory: Path
) -> None:
    manifests = helm.manifests(
        example("sidecar-pod"), PATIENT, {"ports": {"health": free_port(), "metrics": free_port()}}
    )
    ((_, spec),) = pod_specs(manifests)
    with running_pod(spec, manifests, socket_directory) as pod:
        (socket_directory / "workspace" / "plan.md").write_text("Water the plants.\n")
        pod.start("interlock-toolbox")
        pod.start("interlock")
        await asyncio.to_thread(pod.wait_for, "interlock", "startupProbe")
        assert pod.probed("interlock", "readinessProbe") == STATUS.SERVING
        assert pod.probed("interlock", "livenessProbe") == STATUS.SERVING

        async with Gateway(pod.environment("agent")["INTERLOCK_ADDRESS"]) as gateway:
            session = await gateway.open_session(intent="look at the plan")

            await tools_are_there(session)
            assert "Water the plants." in (await session.call("read", {"path": "plan.md"})).text
            assert (await session.call("write", {"path": "plan.md", "content": "x"})).status is CallStatus.PREVIEW
            assert (await session.call("bash", {"command": "rm -rf /"})).status is CallStatus.DENIED

            status = json.loads(await asyncio.to_thread(pod.executed, "interlock", "status", "-o", "json"))
            assert status["serving"] is True
            assert stat.S_IMODE((socket_directory / "state" / "state").stat().st_mode) == 0o700

            waiting = asyncio.create_task(session.call("bash", {"command": "touch begun; sleep 1; echo awake"}))
            began = socket_directory / "workspace" / "begun"

            async def has_begun() -> bool:
                return began.exists() or waiting.done()

            await eventually_so(has_begun)
            assert not waiting.done(), (await waiting).for_model
            pod.terminate("interlock")
            assert "awake" in (await waiting).text
        assert await asyncio.to_thread(pod.ended, "interlock") == 0
        assert not list((socket_directory / "socket").iterdir())


@pytest.mark.req("K8S-1", "K8S-3")
@pytest.mark.parametrize("connect", ["socket", "loopback"])
async def test_an_opa_server_that_was_rendered_decides_beside_the_gateway_and_for_nobody_else(
    helm: Helm, program: Callable[[str], Path], socket_directory: Path, connect: str
) -> None:
    secrets = {"opa": {"token": "a-token-of-both-containers"}}
    opa: Values = {"enabled": True, "connect": connect, "tokenSecret": {"name": "opa" if connect == "loopback" else ""}}
    values = {"ports": {"health": free_port(), "metrics": free_port()}, "opa": opa}
    manifests = with_ports_of_opa(helm.manifests(example("sidecar-pod"), PATIENT, values), free_port(), free_port())
    ((_, spec),) = pod_specs(manifests)
    programs = {"interlock-opa": program("opa")}
    with running_pod(spec, manifests, socket_directory, secrets=secrets, programs=programs) as pod:
        (socket_directory / "workspace" / "plan.md").write_text("Water the plants.\n")
        for name in ("interlock-opa", "interlock-toolbox", "interlock"):
            pod.start(name)
        await asyncio.to_thread(pod.wait_for, "interlock", "startupProbe")
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = pod.container("interlock-opa")[probe]["httpGet"]
            assert status_of(f"http://127.0.0.1:{asked['port']}{asked['path']}", "") == 200
        async with Gateway(pod.environment("agent")["INTERLOCK_ADDRESS"]) as gateway:
            session = await gateway.open_session(intent="look at the plan")
            await tools_are_there(session)
            assert "Water the plants." in (await session.call("read", {"path": "plan.md"})).text
            assert (await session.call("bash", {"command": "rm -rf /"})).status is CallStatus.DENIED
        if connect == "loopback":
            url = f"{gateway_config(manifests)['policy']['opa']['url']}/v1/policies"
            assert [status_of(url, token) for token in ("", "another")] == [401, 401]
            assert status_of(url, secrets["opa"]["token"]) == 200


async def tools_are_there(session: Session) -> None:
    """Wait until the gateway has met the toolbox."""

    async def are_listed() -> bool:
        return {"read", "write", "bash"} <= {one.name for one in (await session.tools()).tools}

    await eventually_so(are_listed)


def with_ports_of_opa(manifests: list[Manifest], port: int, health: int) -> list[Manifest]:
    """The manifests with other ports for OPA and its health: on this machine others may have them."""
    text = json.dumps(manifests).replace("127.0.0.1:8181", f"127.0.0.1:{port}").replace("8282", str(health))
    changed: list[Manifest] = json.loads(text)
    return changed


def status_of(url: str, token: str) -> int:
    """How a server answers a bearer of this token."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)
