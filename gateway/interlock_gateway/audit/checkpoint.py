"""The signed checkpoint: where the log ends, kept beside it so that a cut-off tail is found (AUD-2).

The file has room for two checkpoints, written in turn and in place: a crash can damage only the one being written, and
a full disk neither. There is no list of them, so whoever comes later finds no earlier checkpoint to cut the log back
to. A checkpoint does not have the form of a line, so that neither can pass for the other.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import SigningKey, VerifyKey
from interlock_gateway.audit.line import SEAL_BYTES, Head, seal

FILE_NAME = "checkpoint.jsonl"
SLOT_BYTES = 1024
_FORM = re.compile(
    rb'(\{"v":1,"checkpoint":([1-9][0-9]{0,18}),"sequence":([0-9]{1,19}),"head":"([0-9a-f]{64})","closed":(true|false)'
    rb',"key_id":"([0-9a-f]{16})","timestamp":"[0-9TZ:.-]{20,40}" *)'
    rb',"hash":"([0-9a-f]{64})","signature":"([0-9a-f]{128})"\}\n'
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The log stood at `head` when this, the `number`th, was signed; `closed` says that it was ended in order."""

    number: int
    head: Head
    closed: bool


class CheckpointFile:
    """The file being written."""

    def __init__(self, directory: Path, key: SigningKey, last: Checkpoint | None) -> None:
        """Open it behind the checkpoint `last`, or create it. Raises `OSError`."""
        self._key = key
        self._number = last.number if last is not None else 0
        self._descriptor = os.open(directory / FILE_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if last is None:
            os.ftruncate(self._descriptor, 0)

    def write(self, head: Head, *, closed: bool, timestamp: str) -> None:
        """Sign where the log stands, over the older of the two. Raises `OSError`."""
        number = self._number + 1
        data = _record(Checkpoint(number, head, closed), self._key, timestamp)
        if os.pwrite(self._descriptor, data, _offset(number)) != len(data):
            raise OSError(0, "the checkpoint was written in part")
        if closed or number <= 2:  # noqa: PLR2004 - both records are on disk before anything relies on them
            os.fsync(self._descriptor)
        self._number = number

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read(directory: Path, key: VerifyKey) -> tuple[Checkpoint, bool] | None:
    """The latest checkpoint, and whether the other one is whole and the one before it; `None` when there is no file.

    Raises `AuditDamagedError` when neither is one that `key` signed.
    """
    try:
        data = (directory / FILE_NAME).read_bytes()
    except FileNotFoundError:
        return None
    slots = [_parse(data[at : at + SLOT_BYTES], key) for at in (0, SLOT_BYTES)]
    whole = [
        slot for index, slot in enumerate(slots) if slot is not None and _offset(slot.number) == index * SLOT_BYTES
    ]
    if not whole:
        raise AuditDamagedError(f"{FILE_NAME}: no checkpoint in it was signed with key {key.key_id}")
    latest = max(whole, key=lambda checkpoint: checkpoint.number)
    is_pair = (
        len(data) == 2 * SLOT_BYTES
        and len(whole) == len(slots)
        and sum(it.number for it in whole) == (2 * latest.number - 1)
    )
    return latest, is_pair


def _offset(number: int) -> int:
    return (number - 1) % 2 * SLOT_BYTES


def _record(checkpoint: Checkpoint, key: SigningKey, timestamp: str) -> bytes:
    body = b'{"v":1,"checkpoint":%d,"sequence":%d,"head":"%s","closed":%s,"key_id":"%s","timestamp":"%s"' % (
        checkpoint.number,
        checkpoint.head.sequence,
        checkpoint.head.hash.encode(),
        b"true" if checkpoint.closed else b"false",
        key.public.key_id.encode(),
        timestamp.encode(),
    )
    return seal(body.ljust(SLOT_BYTES - SEAL_BYTES), key)[0]


def _parse(data: bytes, key: VerifyKey) -> Checkpoint | None:
    found = _FORM.fullmatch(data)
    if found is None:
        return None
    body, number, sequence, head, closed, key_id, text, signature = found.groups()
    digest = hashlib.sha256(body).digest()
    if key_id.decode() != key.key_id or digest.hex() != text.decode():
        return None
    if not key.accepts(bytes.fromhex(signature.decode()), digest):
        return None
    return Checkpoint(int(number), Head(int(sequence), head.decode()), closed == b"true")
