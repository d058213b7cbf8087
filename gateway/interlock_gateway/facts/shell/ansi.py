"""Decodes the inside of `$'...'` as bash does (Bash Reference Manual, ANSI-C Quoting)."""

import re

_ESCAPE = re.compile(
    rb"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|x\{(?P<braced>[0-9A-Fa-f]*)\}?|u(?P<short>[0-9A-Fa-f]{1,4})"
    rb"|U(?P<long>[0-9A-Fa-f]{1,8})|c(?P<control>\\\\|.)|(?P<single>[abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
_SINGLE = dict(zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def decode(body: str) -> str | None:
    """The value of `$'body'`: cut at a NUL, as bash cuts it; None when the bytes are no text."""
    raw = _ESCAPE.sub(_replace, body.encode("utf-8"))
    try:
        return raw.split(b"\0", 1)[0].decode("utf-8")
    except UnicodeDecodeError:
        return None


def _replace(match: re.Match[bytes]) -> bytes:
    kind, digits = match.lastgroup, match[match.lastindex or 0]
    if kind == "single":
        return bytes([_SINGLE[digits[0]]])
    if kind == "control":
        return b"\x7f" if digits == b"?" else bytes([digits.upper()[0] & 0x1F])
    if kind == "octal":
        return bytes([int(digits, 8) & 0xFF])
    code = int(digits or b"0", 16)
    if kind in {"hex", "braced"}:
        return bytes([code & 0xFF])
    # What is no character becomes a byte that never decodes, so that the word counts as not known.
    return b"\xff" if code > _LAST_CODE_POINT or code in _SURROGATES else chr(code).encode("utf-8")
