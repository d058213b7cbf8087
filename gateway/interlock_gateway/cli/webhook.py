"""`interlock webhook`."""

import json
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from interlock_gateway.cli.options import LogLevel, examples, group, log_level_of
from interlock_gateway.cli.screen import OutputFormat
from interlock_gateway.injection.settings import load_webhook_config
from interlock_gateway.telemetry.logs import log_to_stderr
from interlock_gateway.transport.http.injecting import WebhookEndpoints, serve_webhook

app = group("Put the gateway into pods that ask for it.", "")


@app.command(epilog=examples("interlock webhook --config /etc/interlock/webhook.yaml"))
def webhook(
    *,
    config: Annotated[
        Path,
        typer.Option("--config", "-c", envvar="INTERLOCK_WEBHOOK_CONFIG", help="The webhook's configuration file."),
    ],
    log_level: LogLevel = "INFO",
    output: Annotated[
        OutputFormat, typer.Option("--output", "-o", help="How the line that says it is ready is written.")
    ] = OutputFormat.TABLE,
) -> None:
    """Answer the reviews of a Kubernetes API server over HTTPS until SIGTERM: put the gateway's sidecar into new pods.

    Runs no gateway and needs no access to the cluster. docs/injection.md has the configuration, and what is refused.
    """
    level = log_level_of(log_level)
    settings = load_webhook_config(config)
    log_to_stderr(level)

    def ready(endpoints: WebhookEndpoints) -> None:
        typer.echo(ready_line(endpoints, output))

    uvloop.run(serve_webhook(settings, ready))


def ready_line(endpoints: WebhookEndpoints, output: OutputFormat) -> str:
    """The one line that says that the webhook serves."""
    if output is OutputFormat.JSON:
        return json.dumps(
            {
                "ready": True,
                "reviews": endpoints.reviews,
                "metrics": endpoints.metrics,
                "template": endpoints.template,
            }
        )
    parts = [f"reviews at https://{endpoints.reviews}/inject"]
    if endpoints.metrics:
        parts.append(f"metrics at http://{endpoints.metrics}/metrics")
    parts.append(f"template {endpoints.template}")
    return f"interlock webhook is ready: {'; '.join(parts)}"
