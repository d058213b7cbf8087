"""The MCP server that is called: `echo`, on the official SDK's own server, as its users write it.

Its HTTP is read by h11, which is what the SDK brings along; ours has a faster reader, which it would find here.
"""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import TextContent, ToolAnnotations

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def main(how: str) -> None:
    """Serve `echo` on a free port, answering as JSON or as streams of events, and print the URL."""
    server = MCPServer("echo", version="1", log_level="ERROR")

    @server.tool(annotations=READS)
    async def echo(text: str) -> list[TextContent]:
        """Say it again."""
        return [TextContent(text=text)]

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app(json_response=how == "json")
    config = uvicorn.Config(app, http="h11", log_level="error", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1])
