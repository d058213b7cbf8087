"""The tools that ship with Interlock, as a provider of its own (toolbox.md)."""
