"""The messages that are sent: an echo tool that reads, one that changes, and calls of both in given sizes."""

import json
from pathlib import Path

from interlock.v1 import gateway_service_pb2, tool_provider_service_pb2

_SCHEMA = json.dumps(
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}
).encode()


def write_provider(directory: Path) -> None:
    """The provider's answers: its description, and the result of every call."""
    described = tool_provider_service_pb2.DescribeResponse(name="echo", version="1", knows_result_only=True)
    reading = described.tools.add(name="echo", description="Say it again.", input_schema=_SCHEMA)
    reading.metadata.read_only = reading.metadata.concurrency_safe = True
    changing = described.tools.add(name="change", description="Change something.", input_schema=_SCHEMA)
    changing.metadata.read_only = False
    changing.capability.reversible = True
    (directory / "describe").write_bytes(described.SerializeToString())
    executed = tool_provider_service_pb2.ExecuteResponse()
    executed.result.output = "a result of a hundred bytes or so, as most tools give one when they have little to say"
    executed.result.undo.irreversible = True
    (directory / "execute").write_bytes(executed.SerializeToString())


def direct(directory: Path, size: int) -> Path:
    """A call sent to the tool itself, with an input of about `size` bytes."""
    request = tool_provider_service_pb2.ExecuteRequest()
    request.invocation.session_id, request.invocation.call_id, request.invocation.tool = "bench", "1", "echo"
    request.invocation.input = _input(size)
    path = directory / f"direct-{size}"
    path.write_bytes(request.SerializeToString())
    return path


def through_gateway(directory: Path, tool: str, size: int, session: str = "bench") -> Path:
    """The same call sent to the gateway, in `session`. Without a call id each one is a new call."""
    request = gateway_service_pb2.CallToolRequest()
    request.call.session_id, request.call.tool, request.call.input = session, tool, _input(size)
    path = directory / f"{tool}-{size}-{session}"
    path.write_bytes(request.SerializeToString())
    return path


def check_answer(answer: bytes) -> None:
    """Raise unless the gateway's answer says that the call was allowed and ran."""
    result = gateway_service_pb2.CallToolResponse.FromString(answer).result
    if result.status != 1 or result.is_error:
        raise RuntimeError(f"the gateway did not run the call that was to be measured: {result}")


def _input(size: int) -> bytes:
    words = "the quick brown fox jumps over the lazy dog; "
    return json.dumps({"text": (words * (size // len(words) + 1))[: size - 12]}).encode()
