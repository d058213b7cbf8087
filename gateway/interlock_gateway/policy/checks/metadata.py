"""The METADATA comment above a rule."""

from typing import Any

import yaml

HEADER = "# METADATA"


def metadata_above(source: str, line: int) -> dict[str, Any] | None:
    """The METADATA that ends right above the 1-based `line`; None when there is none or it is not a mapping."""
    lines = source.split("\n")
    start = line - 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    block = lines[start : line - 1]
    if HEADER not in [text.strip() for text in block]:
        return None
    header = next(index for index, text in enumerate(block) if text.strip() == HEADER)
    text = "\n".join(comment.removeprefix("#").removeprefix(" ") for comment in block[header + 1 :])
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return found if isinstance(found, dict) else None
