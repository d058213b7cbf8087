"""The tools there are: definitions, pins, the operator's say, and what a session sees of them (flows.md, TOOL-*)."""
