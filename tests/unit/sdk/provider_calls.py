"""Calls of a tool without a transport."""

import json
from typing import Any

from interlock.provider import (
    Tool,
    ToolProvider,
    tool,
)
from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc


def invocation(name: str, **arguments: Any) -> provider_pb2.ToolInvocation:
    return provider_pb2.ToolInvocation(
        session_id="s-1",
        call_id="c-1",
        tool=name,
        input=json.dumps(arguments).encode(),
        workdir="/w",
        labels={"k": "v"},
    )


async def run(made: Tool[..., Any], **arguments: Any) -> provider_pb2.ToolResult:
    provider = ToolProvider([made])
    try:
        event = await provider.execute(rpc.ExecuteRequest(invocation=invocation(made.name, **arguments)))
    finally:
        provider.close()
    return event.result


def returning(value: Any) -> Tool[..., Any]:
    @tool
    async def give() -> Any:
        return value

    return give
