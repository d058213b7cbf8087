"""A call's result as JSON bytes and back, exactly: what the same call id is answered with later (PIPE-10)."""

from dataclasses import dataclass

from interlock_gateway.core.call import CallResult
from interlock_gateway.pipeline.ports import StoredFormatError
from interlock_gateway.state.record_codec import RecordCodec

# Raised when a document of before could be misread; a field that is added with a default needs no new version.
VERSION = 1


@dataclass(frozen=True, slots=True)
class _Envelope:
    version: int
    result: CallResult


_CODEC = RecordCodec(_Envelope)


def encode_result(result: CallResult) -> bytes:
    """`result` as JSON; bytes of contents in base64."""
    return _CODEC.encode(_Envelope(VERSION, result))


def decode_result(document: bytes) -> CallResult:
    """What `encode_result` was given; raises `StoredFormatError`."""
    envelope = _CODEC.decode(document)
    if envelope.version != VERSION:
        raise StoredFormatError(f"a stored result is in format {envelope.version}, not {VERSION}")
    return envelope.result
