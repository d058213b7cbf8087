"""`interlock serve`."""

import json
import os
from typing import Annotated

# gRPC reads this once, when it is first imported; without these two experiments a call costs about a tenth less.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

import typer
import uvloop

from interlock_gateway.app import serve as run_gateway
from interlock_gateway.cli.options import ConfigFile, LogLevel, examples, group, log_level_of
from interlock_gateway.cli.screen import OutputFormat
from interlock_gateway.config_loader import load_config
from interlock_gateway.serving import Endpoints
from interlock_gateway.telemetry.logs import log_to_stderr

app = group("Run the gateway.", "")


@app.command(
    epilog=examples(
        "interlock serve",
        "interlock serve --config interlock.yaml",
        "INTERLOCK__SERVER__LISTEN=unix:/run/interlock/agent.sock interlock serve --output json",
    )
)
def serve(
    *,
    config: ConfigFile = None,
    log_level: LogLevel = "",
    output: Annotated[
        OutputFormat, typer.Option("--output", "-o", help="How the line that says it is ready is written.")
    ] = OutputFormat.TABLE,
) -> None:
    """Run the gateway until SIGTERM or Ctrl-C, which drain it.

    Prints one line when it serves: where agents and operators reach it, the policy's revision and profile. Logs go to
    standard error, one JSON object a line, from `logs.level` of the settings on unless `--log-level` says another.
    """
    wanted = log_level_of(log_level) if log_level else ""
    settings = load_config(config, os.environ)
    log_to_stderr(wanted or settings.logs.level)

    def ready(endpoints: Endpoints) -> None:
        typer.echo(ready_line(endpoints, output))

    uvloop.run(run_gateway(settings, ready))


def ready_line(endpoints: Endpoints, output: OutputFormat) -> str:
    """The one line that says that the gateway serves."""
    if output is OutputFormat.JSON:
        return json.dumps(
            {
                "ready": True,
                "agents": endpoints.agents,
                "operators": endpoints.operators,
                "metrics": endpoints.metrics,
                "answers": endpoints.answers,
                "health": endpoints.health,
                "mcp": endpoints.mcp,
                "policy_revision": endpoints.policy_revision,
                "profile": endpoints.profile,
            }
        )
    parts = [f"agents at {', '.join(endpoints.agents)}"]
    if endpoints.operators:
        parts.append(f"operators at {', '.join(endpoints.operators)}")
    if endpoints.metrics:
        parts.append(f"metrics at http://{endpoints.metrics}/metrics")
    if endpoints.answers:
        parts.append(f"answers to webhooks at http://{endpoints.answers}")
    if endpoints.health:
        parts.append(f"health at {endpoints.health}")
    if endpoints.mcp:
        parts.append(f"MCP at {', '.join(map(mcp_url, endpoints.mcp))}")
    parts.append(f"policy {endpoints.policy_revision}, profile {endpoints.profile}")
    return f"interlock is ready: {'; '.join(parts)}"


def mcp_url(address: str) -> str:
    """How a client of MCP names `address`."""
    return address if address.startswith("unix:") else f"http://{address}/mcp"
