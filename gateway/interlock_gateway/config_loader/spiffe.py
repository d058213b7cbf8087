"""SPIFFE IDs and patterns for them (SPIFFE-ID specification, section 2)."""

import re

LONGEST = 2048
_SCHEME = "spiffe://"
_DOMAIN = re.compile(r"[a-z0-9._-]{1,255}")
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")
_SEGMENT_PATTERN = re.compile(r"[A-Za-z0-9._*-]+")


def spiffe_problem(text: str, *, pattern: bool = False) -> str:
    """Why `text` is no SPIFFE ID, or no `pattern` for some; empty when it is one.

    >>> spiffe_problem("spiffe://example.org/../agent")
    'has a path segment . or .., which no SPIFFE ID has'
    """
    if not text.startswith(_SCHEME):
        return f"must begin with {_SCHEME}"
    if len(text) > LONGEST:
        return f"has {len(text)} characters; a SPIFFE ID has {LONGEST} at most"
    domain, slash, path = text.removeprefix(_SCHEME).partition("/")
    if not _DOMAIN.fullmatch(domain):
        return "must name a trust domain of lower-case letters, digits, dots, dashes and underscores"
    if not slash:
        return "must have a path: a trust domain is nobody in particular"
    return _path_problem(path, _SEGMENT_PATTERN if pattern else _SEGMENT)


def _path_problem(path: str, allowed: re.Pattern[str]) -> str:
    for segment in path.split("/"):
        if segment in {".", ".."}:
            return "has a path segment . or .., which no SPIFFE ID has"
        if not allowed.fullmatch(segment):
            return "has a path segment that is empty, or holds something else than letters, digits, dots and dashes"
    return ""


def spiffe_pattern(text: str) -> re.Pattern[str]:
    """What matches the SPIFFE IDs that the pattern `text` stands for, whole; `*` stays within its segment."""
    return re.compile("[A-Za-z0-9._-]*".join(re.escape(part) for part in text.split("*")))
