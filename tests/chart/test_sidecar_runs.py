"""What the chart renders is started: the sidecar beside an agent, with the toolbox."""

import asyncio
from pathlib import Path

import pytest
from interlock import CallStatus, Gateway
from opa_process import free_port
from pod_on_this_machine import STATUS, running_pod
from rendering import Helm, example, pod_specs
from waiting import eventually_so


@pytest.mark.req("K8S-1", "K8S-3")
async def test_an_agent_calls_tools_through_the_sidecar_that_was_rendered_and_the_sidecar_drains(
    helm: Helm, socket_directory: Path
) -> None:
    manifests = helm.manifests(example("sidecar-pod"), {"ports": {"health": free_port(), "metrics": free_port()}})
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

            async def has_tools() -> bool:
                return bool((await session.tools()).tools)

            await eventually_so(has_tools)
            assert "Water the plants." in (await session.call("read", {"path": "plan.md"})).text
            assert (await session.call("write", {"path": "plan.md", "content": "x"})).status is CallStatus.PREVIEW
            assert (await session.call("bash", {"command": "rm -rf /"})).status is CallStatus.DENIED

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
