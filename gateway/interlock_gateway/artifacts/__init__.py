"""Results that were too large to return, kept whole (results.md, ART-1 to ART-4)."""
