"""Second looks at what a detector matched: a secret, or a placeholder, a variable, a piece of code.

Every function takes the whole text, the name the value was assigned to (empty when it has none) and the value's bounds.
"""

import base64
import binascii
import re

# A word, a mask, a gap to fill in, a variable.
_PLACEHOLDER = re.compile(
    rb"(?i:null|none|nil|true|false|undefined|unset|empty|str|string|secretstr|bytes|int|integer|bool|boolean|any|object"
    rb"|optional|required|redacted|hidden|masked|omitted|removed|password|passwd|passphrase|secret|token|key|text|value|input"
    rb"|prompt|yes|no|field|self|is|was|the|a|an|for|must|cannot|and|or|in|of|to|not)"
    rb"|\[redacted:[a-z-]+\]?|[*xX.\-_#?]+|(?:\xe2\x80\xa2)+|<[^>]*>?|\{\{[^}]*\}{0,2}|%\([^)]*\)?s?|\[[A-Za-z _-]+\]?"
    rb"|\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Z_][A-Z0-9_]*|%[A-Z_]+%"
)
# A call, an index, an attribute; a plain name that ends an argument or is named like what it is assigned to.
_CODE = re.compile(
    rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[].*"
    rb"|[A-Za-z_]+(?:\.[A-Za-z_]+)+[,)\]}:;]*"
    rb"|[A-Za-z_]+[,)\]}]+"
    rb"|(?i:[a-z_]*(?:password|passwd|pwd|passphrase|key|secret|token|key_id)[,)\]}:;]*)"
    rb"|[(=,)].*|%[sr].*|\{[\w!.:]*\}?|[0-9]{1,2},?",
    re.DOTALL,
)
_LETTER = re.compile(rb"[A-Za-z]")
_DIGIT = re.compile(rb"[0-9]")
# Tokens that say where to go on, not who one is.
_POSITION = re.compile(
    rb"(?i).*(?:page|next|prev|continu|cursor|sync|state|resume|pagination|start|end|etag|max|stop|request|idempot)[\w.-]*token"
)
_WORKING_DIRECTORY = re.compile(rb"(?i)(?:old)?pwd")
# The name of a secret in a cloud's resource names is no secret.
_RESOURCE_NAME = b":secret:"
_TRAILING = b",.:;)]}>"
_MIN_TOKEN = 8
_MIN_MIXED = 20
_KEY_WINDOW = 32 * 1024
_KEY_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(rb"(?:[A-Za-z0-9+/=]{16,}|[\s\\nr])*")


def assigned_secret(text: bytes, name: bytes, start: int, end: int) -> bool:
    """Whether what is assigned to a name that says "secret" outright is a value at all."""
    raw = text[start:end]
    value = raw.rstrip(_TRAILING)
    if not value or _PLACEHOLDER.fullmatch(value):
        return False
    is_quoted = text[start - 1 : start] in {b'"', b"'"}
    if not is_quoted and _CODE.fullmatch(raw):
        return False
    return value[:1] not in {b"/", b"~", b"."} or not _WORKING_DIRECTORY.fullmatch(name)


def option_secret(text: bytes, name: bytes, start: int, end: int) -> bool:
    """Whether what follows an option such as `--password` or `--token` is a secret."""
    screen = assigned_token if name.lower().endswith((b"token", b"key")) else assigned_secret
    return screen(text, name, start, end)


def assigned_token(text: bytes, name: bytes, start: int, end: int) -> bool:
    """Whether what is assigned to a name that may mean a secret looks like one: not a word, not a position."""
    value = text[start:end].rstrip(_TRAILING)
    if text[max(0, start - len(_RESOURCE_NAME)) : start] == _RESOURCE_NAME:
        return False
    if len(value) < _MIN_TOKEN or _POSITION.fullmatch(name) or not assigned_secret(text, name, start, end):
        return False
    if _LETTER.search(value) is None:
        return False
    return _DIGIT.search(value) is not None or (
        len(value) >= _MIN_MIXED and value not in {value.lower(), value.upper()}
    )


def basic_credentials(text: bytes, _name: bytes, start: int, end: int) -> bool:
    """Whether the word behind `Basic` is base64 of `user:password`."""
    try:
        decoded = base64.b64decode(text[start:end], validate=True)
    except binascii.Error:
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


def curl_password(text: bytes, _name: bytes, start: int, end: int) -> bool:
    """Whether what follows the colon of `-u` is a password, not a group id or a variable."""
    value = text[start:end]
    return not value.isdigit() and assigned_secret(text, b"", start, end)


def key_block_end(text: bytes, start: int, end: int) -> int:
    """Where a PEM private key ends: behind its last line, or behind what still looks like its body when cut off."""
    another = text.find(b"-----BEGIN", end, start + _KEY_WINDOW)
    last = another if another >= 0 else start + _KEY_WINDOW
    closing = _KEY_END.search(text, end, last)
    if closing is not None:
        return closing.end()
    body = _KEY_BODY.match(text, end, last)
    return body.end() if body is not None else end
