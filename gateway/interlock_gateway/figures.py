"""What operators are shown of a running gateway: every figure that is read when it is scraped (OBS-1)."""

from collections import Counter
from importlib.metadata import version
from pathlib import Path

from interlock_gateway.core.tool import PinState
from interlock_gateway.serving import Gateway
from interlock_gateway.telemetry.disks import watch_disks
from interlock_gateway.telemetry.processes import watch_processes
from interlock_gateway.telemetry.surroundings import (
    show_build,
    watch_audit,
    watch_calls,
    watch_gate,
    watch_health,
    watch_mcp,
    watch_policy_workers,
    watch_providers,
    watch_requests,
    watch_state,
    watch_tools,
)


def show(gateway: Gateway) -> None:
    """Show them among its metrics. Call once."""
    rooms = gateway.rooms
    metrics, pipeline, store = rooms.metrics, rooms.pipeline, rooms.store
    show_build(metrics, version("interlock-gateway"))
    watch_health(metrics, lambda: gateway.serving, lambda: [(one.name, one.healthy) for one in gateway.components()])
    watch_calls(metrics, lambda: pipeline.in_flight, lambda: len(pipeline.held), lambda: len(rooms.parts.sessions))
    watch_gate(metrics, pipeline.gate)
    watch_mcp(metrics, gateway.mcp_sessions)
    watch_requests(metrics, lambda: gateway.requests.ended, lambda: gateway.requests.refused)
    watch_audit(metrics, rooms.audit)
    watch_state(metrics, lambda: store.stands, lambda: store.waiting)
    watch_providers(metrics, rooms.directory.connected)
    watch_tools(metrics, lambda: _pins(gateway))
    watch_policy_workers(metrics, lambda: len(rooms.engine.process_ids))
    watch_processes(metrics.registry, lambda: _workers(gateway))
    config = gateway.config
    watch_disks(metrics.registry, {"state": config.state_dir, "audit": Path(config.at_state(config.audit.dir))})


def _pins(gateway: Gateway) -> dict[str, int]:
    found = Counter(tool.pin_state for tool in gateway.rooms.parts.registry.all_tools())
    return {state.value: found[state] for state in PinState}


def _workers(gateway: Gateway) -> dict[str, tuple[int, ...]]:
    candidate = gateway.rooms.shadow.evaluator
    return {
        "policy": gateway.rooms.engine.process_ids,
        "inputs": gateway.rooms.pipeline.large_inputs.process_ids,
        "schemas": gateway.rooms.parts.registry.schemas.process_ids,
        "candidate": candidate.process_ids if candidate is not None else (),
    }
