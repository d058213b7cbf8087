"""Deciding for the MCP gateway agentgateway, which carries the calls itself (EXT-1)."""
