"""What operators see: metrics and logs (operations.md, OBS-1)."""
