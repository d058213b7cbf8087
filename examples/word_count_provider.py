"""A provider in ten lines: `python word_count_provider.py unix:/run/words.sock` serves a tool that counts words."""

import sys

from interlock.provider import serve_tools, tool


@tool(read_only=True, destructive=False, open_world=False, concurrency_safe=True)
def word_count(text: str) -> str:
    """Count the words of a text."""
    return f"{len(text.split())} words"


serve_tools([word_count], sys.argv[1], name="words", version="1.0")
