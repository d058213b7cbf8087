"""The gateway: the server between agents and their tools."""
