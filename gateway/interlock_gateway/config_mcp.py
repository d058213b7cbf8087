"""The part of the configuration about MCP: how the gateway is reached as an MCP server."""

from typing import Annotated

from pydantic import Field

from interlock_gateway.config_section import Seconds, Section


class McpPersonConfig(Section):
    """Who sits at an agent's MCP client, and answers there."""

    agent: Annotated[str, Field(min_length=1, max_length=256)]
    """The principal whose client it is."""
    approver: Annotated[str, Field(min_length=1, max_length=256)]
    """As whom the answers count. Never the agent itself, nor another agent."""
    groups: tuple[Annotated[str, Field(min_length=1, max_length=256)], ...] = ()
    """The groups of this approver."""
    confirms: bool = False
    """The person may also consent to what providers declare (TOOL-3), and is asked for it at the client, once. For a
    gateway of one person's own, as `interlock mcp wrap` runs."""


class McpConfig(Section):
    """The gateway as an MCP server."""

    listen: tuple[str, ...] = ("unix:{state}/mcp.sock",)
    """Addresses: `unix:PATH` speaks MCP's stdio transport, for `interlock mcp`; `HOST:PORT` speaks streamable HTTP at
    `/mcp`, with the credentials and the TLS of `server.listen`. Empty switches it off; port 0 picks a free one."""
    hosts: tuple[str, ...] = ()
    """Host names that clients reach it by over HTTP, such as `mcp.example.com`, besides `localhost`, loopback addresses
    and those of `listen`. A request for any other host is refused: a page in a browser may have sent it."""
    origins: tuple[str, ...] = ()
    """Web origins, such as `https://chat.example.com`, whose pages may use it over HTTP, besides those of loopback."""
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 256
    """Connections at once at each address; more are refused."""
    max_sessions: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """MCP sessions over HTTP that are open at once; more are refused."""
    max_sessions_per_principal: Annotated[int, Field(ge=1, le=100_000)] = 100
    """The same, of one principal."""
    session_idle_s: Seconds = 1800.0
    """After how many seconds without a request an MCP session over HTTP is closed."""
    people: tuple[McpPersonConfig, ...] = ()
    """Agents whose clients may ask the person who sits there about a call (elicitation), and have the answer count as
    an approver's. Whoever answers is on the agent's wire: name only agents whose client you trust to ask its user."""
    hold_s: Seconds = 45.0
    """For how many seconds a call that waits for people elsewhere is held open; then it is answered with what to do to
    go on. Many clients give up after 60."""
    ask_s: Seconds = 600.0
    """The same, for one whose own client asks a person, or answers what an upstream server asks."""
    round_s: Seconds = 120.0
    """For how many seconds a call waits for a client that answers by sending its request again. Nobody can tell whether
    it will; meanwhile the call keeps its turn in its session."""
