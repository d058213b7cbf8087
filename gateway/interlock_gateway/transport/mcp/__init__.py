"""How the gateway is reached as an MCP server (MCP-1). The SDK is loaded when the first client comes."""
