"""MCP servers as providers: over stdio and streamable HTTP, whatever revision they speak (MCP-2, MCP-3)."""
