"""How the gateway is reached. A surface decodes, calls the core once, and encodes (PIPE-1)."""
