"""The order of events in one tool call: one module per step (pipeline.md, PIPE-2)."""
