"""Signatures of what goes out and of what comes back: Standard Webhooks, and Slack's `v0` (CHK-8).

A signature is looked at before anything it covers is parsed; comparisons take the same time wherever they fail.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from hashlib import sha256

TOLERANCE_S = 300
"""How far the time in a signed message may be from ours, in both directions."""
SECRET_PREFIX = "whsec_"  # noqa: S105 -- the part of a secret that is not secret
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
SLACK_TIMESTAMP, SLACK_SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
_SHORTEST_SECRET, _LONGEST_SECRET = 24, 64
_LONGEST_ID = 256
_MOST_SIGNATURES = 8
_LATEST = 10**12


class BadSignatureError(Exception):
    """A message that is not from who it says, not of now, or not signed at all; the message says which."""


def read_secret(text: str) -> bytes:
    """The key in `whsec_BASE64`. Raises `ValueError` without repeating any of it."""
    encoded = text.strip().removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if not _SHORTEST_SECRET <= len(key) <= _LONGEST_SECRET:
        raise ValueError(f"holds {len(key)} bytes; {_SHORTEST_SECRET} to {_LONGEST_SECRET} are needed")
    return key


def sign(key: bytes, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers that sign `body` (Standard Webhooks 1.0)."""
    return {ID: message_id, TIMESTAMP: str(timestamp), SIGNATURE: _standard(key, message_id, timestamp, body)}


def verify(key: bytes, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """The id of a message that whoever holds `key` signed just now. Raises `BadSignatureError`."""
    message_id = headers.get(ID, "")
    if not 0 < len(message_id) <= _LONGEST_ID or not message_id.isascii():
        raise BadSignatureError(f"send {ID}")
    timestamp = _fresh(headers.get(TIMESTAMP, ""), now)
    wanted = _standard(key, message_id, timestamp, body).encode()
    given = headers.get(SIGNATURE, "").encode().split()[:_MOST_SIGNATURES]
    # Every one is compared: a sender that changes its key sends two.
    matches = [hmac.compare_digest(one, wanted) for one in given]
    if not any(matches):
        raise BadSignatureError("the signature is not right")
    return message_id


def slack_signature(secret: str, timestamp: int, body: bytes) -> str:
    """Slack's `v0` signature of a request."""
    return "v0=" + hmac.new(secret.encode(), b"v0:%d:%b" % (timestamp, body), sha256).hexdigest()


def verify_slack(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """The signature of a request that Slack sent just now, which no other request has. Raises `BadSignatureError`."""
    timestamp = _fresh(headers.get(SLACK_TIMESTAMP, ""), now)
    wanted = slack_signature(secret, timestamp, body)
    if not hmac.compare_digest(headers.get(SLACK_SIGNATURE, "").encode(), wanted.encode()):
        raise BadSignatureError("the signature is not right")
    return wanted


def _standard(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()


def _fresh(text: str, now: float) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > _LATEST:
        raise BadSignatureError("send the time it was signed at, in Unix seconds")
    if abs(int(text) - now) > TOLERANCE_S:
        raise BadSignatureError(f"it was not signed in the last {TOLERANCE_S} s")
    return int(text)
