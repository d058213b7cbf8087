"""What the chart renders is started: the service, with a certificate and tokens."""

import asyncio
from pathlib import Path

import pytest
import trustme
from interlock import Gateway, InterlockError
from interlock.tls import ClientTls
from interlock_gateway.identity.authenticate import new_token
from opa_process import free_port
from pod_on_this_machine import STATUS, running_pod
from rendering import Helm, example, pod_specs


@pytest.mark.req("K8S-1", "K8S-3")
async def test_an_agent_reaches_the_service_that_was_rendered_over_tls_with_its_token(
    helm: Helm, socket_directory: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("interlock.agents.svc", "127.0.0.1")
    (socket_directory / "ca.crt").write_bytes(authority.cert_pem.bytes())
    files = {"tls.crt": issued.cert_chain_pems[0].bytes().decode(), "tls.key": issued.private_key_pem.bytes().decode()}
    token, hashed = new_token()
    port = free_port()
    values = {
        "ports": {"agents": port, "health": free_port(), "metrics": free_port()},
        "config": {"identity": {"tokens": [{"principal": "planner", "sha256": hashed}]}},
    }
    manifests = helm.manifests(example("service-sqlite"), values)
    ((_, spec),) = pod_specs(manifests)
    # The volume of a claim is there, whatever provides it.
    spec["volumes"].append({"name": "interlock-state"})
    with running_pod(spec, manifests, socket_directory, secrets={"demo-interlock-tls": files}) as pod:
        pod.start("interlock")
        await asyncio.to_thread(pod.wait_for, "interlock", "startupProbe")
        await asyncio.to_thread(pod.wait_for, "interlock", "readinessProbe")
        assert pod.probed("interlock", "livenessProbe") == STATUS.SERVING
        tls = ClientTls(ca_file=socket_directory / "ca.crt")
        async with Gateway(f"127.0.0.1:{port}", token=token, tls=tls) as gateway:
            session = await gateway.open_session(intent="look around")
            assert "read_artifact" in {one.name for one in (await session.tools()).tools}
        async with Gateway(f"127.0.0.1:{port}", token=new_token()[0], tls=tls) as stranger:
            with pytest.raises(InterlockError):
                await stranger.open_session()
        pod.terminate("interlock")
        assert await asyncio.to_thread(pod.ended, "interlock") == 0
        assert '"level": "error"' not in pod.log("interlock")
