"""Signed webhooks: checkpoints go out to people who do not watch, and their answers come back (CHK-8)."""
