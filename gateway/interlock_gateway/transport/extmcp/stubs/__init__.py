"""Generated stubs of agentgateway.dev.ext_mcp; written by ``proto/generate.py``."""
