"""RFC 8785 JSON, fast where the standard encoder already writes it."""

import json
import re

import rfc8785

from interlock_gateway.core.jsonvalue import JsonValue

_PLAIN = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), check_circular=False)
_BEYOND_BMP_ORDER = re.compile("[\ue000-\U0010ffff]")


def canonical(value: JsonValue) -> bytes:
    """Canonical JSON of `value` (RFC 8785), by the reference library."""
    return rfc8785.dumps(value)


def canonical_without_floats(value: JsonValue) -> bytes:
    """Canonical JSON of a value that holds no float.

    The standard encoder then differs from RFC 8785 in one thing alone: it sorts keys by code point instead of by
    UTF-16 unit, which only matters beyond U+DFFF. Text with such characters goes to the reference library.
    """
    text = _PLAIN.encode(value)
    if not text.isascii() and _BEYOND_BMP_ORDER.search(text):
        return rfc8785.dumps(value)
    return text.encode("utf-8")
