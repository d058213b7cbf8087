"""What a client carries from one request of a call to the next, sealed: to the client it is a word without meaning.

It is sealed with AES-256-GCM under a key that all gateways on the database share. Who asked, in which session, with
which tool and input is authenticated beside it and not written into it: under any other it does not open. It says which
checkpoint was shown and until when that counts, and holds a number that is used once.
"""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256

from interlock_gateway.core.clock import Clock

KEY_NAME = "mcp-request-state"
_PREFIX = "i1."
_NONCE_BYTES = 12
_LONGEST = 4096


class RequestStateError(Exception):
    """It is none of ours, was made for another call, or has expired. The message is for the log alone."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a person was shown: the checkpoint, its call and that call's digest. `number` is used once.

    All three are empty where no checkpoint is shown, and an upstream server asks.
    """

    checkpoint_id: str
    call_id: str
    call_digest: str
    expires_at: float
    number: str

    @property
    def use(self) -> str:
        """Under which key it is remembered that it was used."""
        return sha256(f"{KEY_NAME}:{self.number}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The request that the state is bound to. `input` is JSON, and counts by its value."""

    principal: str
    session_id: str
    tool: str
    input: bytes

    def bound(self) -> bytes:
        """The same bytes for the same request, whatever order its members come in."""
        value = json.dumps(json.loads(self.input or b"{}"), sort_keys=True, separators=(",", ":"))
        digest = sha256(value.encode()).hexdigest()
        return json.dumps([self.principal, self.session_id, self.tool, digest]).encode()


def new_round(expires_at: float, checkpoint_id: str = "", call_id: str = "", call_digest: str = "") -> Round:
    """A round with a number of its own; without a checkpoint, of a call that waits in this process."""
    return Round(checkpoint_id, call_id, call_digest, expires_at, secrets.token_urlsafe(16))


class Seal:
    """Seals rounds, and opens them again."""

    def __init__(self, key: bytes, clock: Clock) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- only who is asked needs it

        self._cipher = AESGCM(key)
        self._clock = clock

    def seal(self, asking: Round, asked: AskedFor) -> str:
        """`asking` as a word for the client, good for `asked` alone."""
        plain = json.dumps(
            [asking.checkpoint_id, asking.call_id, asking.call_digest, asking.expires_at, asking.number]
        ).encode()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, plain, asked.bound())
        return _PREFIX + urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, word: str, asked: AskedFor) -> Round:
        """The round in `word`. Raises `RequestStateError`."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 -- only who is asked needs it

        raw = _decoded(word)
        try:
            plain = self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], asked.bound())
        except InvalidTag:
            raise RequestStateError("it was not made here, or not for this request") from None
        found = Round(*json.loads(plain))
        if found.expires_at <= self._clock.now():
            raise RequestStateError("it has expired")
        return found


def _decoded(word: str) -> bytes:
    if not word.startswith(_PREFIX) or len(word) > _LONGEST:
        raise RequestStateError("it is not of our form")
    text = word.removeprefix(_PREFIX)
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise RequestStateError("it is not of our form") from None
    # One word for one state: what decodes to the same bytes and is written otherwise was not made here.
    if urlsafe_b64encode(raw).decode().rstrip("=") != text or len(raw) <= _NONCE_BYTES:
        raise RequestStateError("it is not of our form")
    return raw
