"""A provider for the demonstration: releases of a service, kept as files, one of which needs a person and one a doubt.

`python -m interlock_gateway.demo.releases DIRECTORY ADDRESS` serves it, built on the SDK's provider API alone.
"""

import sys
from pathlib import Path
from typing import Annotated

from interlock.provider import Arg, ToolResult, UndoInfo, serve_tools, tool

Service = Annotated[str, Arg(description="The service.", pattern="^[a-z]{1,20}$")]
Version = Annotated[str, Arg(description="The version, such as 1.4.2; empty takes the service down.", max_length=20)]
Percent = Annotated[int, Arg(description="How much of the traffic the new version gets.", min=0, max=100)]

directory = Path()


@tool(
    read_only=False,
    destructive=False,
    open_world=False,
    requires_checkpoint=True,
    reversible=True,
    undo_method="tool",
    undo_tool="deploy",
)
def deploy(service: Service, version: Version) -> ToolResult:
    """Run a version of a service in production."""
    before = _kept(service, "version")
    _keep(service, "version", version)
    undo = UndoInfo(
        tool="deploy",
        input={"service": service, "version": before},
        description=f"run {before or 'nothing'} again",
    )
    said = f"{service} runs {version or 'nothing'}; before it was {before or 'nothing'}"
    return ToolResult(content=said, undo=undo)


@deploy.render_call
def deploy_in_words(service: str, version: str) -> str:
    """What a person is asked about."""
    now = _kept(service, "version") or "nothing"
    return f"Deploy {service} {version or '(take it down)'} to production. It runs {now} now."


@tool(
    read_only=False,
    destructive=False,
    open_world=False,
    requires_reverse_thinking=True,
    reversible=True,
    undo_method="tool",
    undo_tool="route_traffic",
)
def route_traffic(service: Service, percent: Percent) -> ToolResult:
    """Send a share of the traffic to the newest version of a service."""
    before = int(_kept(service, "traffic") or "0")
    _keep(service, "traffic", str(percent) if percent else "")
    undo = UndoInfo(
        tool="route_traffic",
        input={"service": service, "percent": before},
        description=f"send {before} % again",
    )
    said = f"{percent} % of the traffic goes to the newest {service}; before it was {before} %"
    return ToolResult(content=said, undo=undo)


def _kept(service: str, what: str) -> str:
    path = directory / f"{service}.{what}"
    return path.read_text().strip() if path.exists() else ""


def _keep(service: str, what: str, value: str) -> None:
    path = directory / f"{service}.{what}"
    if value:
        path.write_text(f"{value}\n")
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    serve_tools([deploy, route_traffic], sys.argv[2], name="releases", version="1.0")
