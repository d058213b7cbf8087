"""The references of a prompt, turned into content (REF-1 to REF-4)."""
