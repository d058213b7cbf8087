"""A candidate policy beside the one in force: what it would have decided, and nothing else (LIFE-5)."""
