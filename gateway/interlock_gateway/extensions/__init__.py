"""Plug-ins: found by entry points, named in the configuration, kept in their bounds (PIPE-13)."""
