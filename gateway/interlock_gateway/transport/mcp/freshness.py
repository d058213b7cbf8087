"""What stands with every list and every resource since 2026-07-28: how long it may be kept, and by whom."""

FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""It is this caller's alone, and may be another one the next time. Older revisions leave it out."""
