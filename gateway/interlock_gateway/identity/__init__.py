"""Who calls, and what they may do (operations.md, AUTH-1 and AUTH-2)."""
