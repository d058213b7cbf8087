"""The part of the configuration about deciding for an MCP gateway that carries the calls itself (EXT-1)."""

from typing import Annotated, Literal

from pydantic import Field

from interlock_gateway.config_section import Seconds, Section


class ExtMcpConfig(Section):
    """The external policy protocol of the MCP gateway agentgateway."""

    listen: tuple[str, ...] = ()
    """Where it is served: `unix:PATH` or `HOST:PORT`, with the TLS of `server.tls`; port 0 picks a free one. Empty
    switches it off."""
    callers: tuple[Annotated[str, Field(min_length=1, max_length=256)], ...] = ()
    """The principals that may ask over TCP, with the credentials of `server.listen`: MCP gateways, that say for whom
    they speak. Give each a credential of its own, and never an agent's. Whoever may open a Unix socket of `listen` may
    ask there."""
    trust: Literal["declared", "floor"] = "floor"
    """How far MCP servers' annotations are believed: `floor` lets them only make a tool look less safe, until an
    operator confirms it (TOOL-3)."""
    pins: Literal["enforce", "follow"] = "enforce"
    """`enforce` quarantines a changed definition until an operator approves it; `follow` accepts it (TOOL-5)."""
    prefix_mode: Literal["conditional", "always", "never"] = "conditional"
    """agentgateway's own `prefixMode`: whether tools in its lists are named after their servers, as `SERVER_TOOL`.
    `conditional`: where a list has the tools of several. With `never` nothing of such a list is let through, because it
    does not say whose they are."""
    answer_s: Seconds = 30.0
    """For how many seconds the result of a call that was let through is waited for. After that nobody knows what came
    of it; until then nothing else of its session runs beside a call that may change something."""
