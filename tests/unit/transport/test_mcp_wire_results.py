"""Results of calls on the wire are what the SDK's kernel makes of them, byte for byte (MCP-3, PERF-3)."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.transport.mcp.exchange import encoded
from interlock_gateway.transport.mcp.wire_results import wire_result
from interlock_gateway.transport.mcp.wires import Wire
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

SERVER: Server[Wire] = Server("interlock", version="1", title="Interlock")
EXACT = 2**53 - 1
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=4)
PLAIN = st.fixed_dictionaries({"type": st.just("text"), "text": TEXT})
PART = (
    PLAIN
    | st.fixed_dictionaries({"type": st.just("text"), "text": TEXT | JSON}, optional={"_meta": JSON, "more": JSON})
    | st.fixed_dictionaries({"type": st.just("text"), "text": TEXT, "annotations": OBJECT})
    | st.fixed_dictionaries({"type": st.just("image"), "data": st.just("AA=="), "mimeType": TEXT}, optional={"x": JSON})
    | st.fixed_dictionaries({"type": st.just("resource_link"), "uri": TEXT, "name": TEXT}, optional={"size": JSON})
    | st.fixed_dictionaries({"type": TEXT}, optional={"text": TEXT})
)
META = st.dictionaries(TEXT | st.sampled_from(["dev.interlock/status", "x/y", SERVER_INFO_META_KEY]), JSON, max_size=4)
USUAL = st.fixed_dictionaries(
    {
        "resultType": st.just("complete"),
        "content": st.lists(PLAIN, max_size=3),
        "isError": st.booleans(),
        "_meta": META,
    },
    optional={"structuredContent": OBJECT},
)
ODD = st.fixed_dictionaries(
    {"resultType": st.sampled_from(["complete", "input_required"])},
    optional={
        "content": st.lists(PART, max_size=3),
        "isError": st.booleans() | st.none() | TEXT,
        "_meta": META,
        "structuredContent": JSON,
        "more": JSON,
        "inputRequests": st.just({}),
        "requestState": TEXT,
    },
)


def of_the_kernel(result: dict[str, Any], version: str) -> dict[str, Any]:
    runner = ServerRunner(SERVER, Connection.from_envelope(version, None, {}), Wire())
    return runner._serialize("tools/call", version, result)


def told(make: Any, *given_: Any) -> bytes | tuple[int, str]:
    """What goes out, or the error in its place."""
    try:
        return encoded(make(*copy.deepcopy(given_)))
    except MCPError as error:
        return error.code, error.message


@pytest.mark.req("MCP-3", "PERF-3")
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@settings(max_examples=400, deadline=None)
@given(result=USUAL | ODD, version=st.sampled_from(KNOWN_PROTOCOL_VERSIONS))
def test_a_result_goes_out_as_the_kernel_would_send_it(result: dict[str, Any], version: str) -> None:
    assert told(wire_result, result, version, SERVER.server_info_stamp) == told(of_the_kernel, result, version)
