"""`google.rpc.Status` in `grpc-status-details-bin`, without googleapis-common-protos.

The messages live in a descriptor pool of their own, wire-compatible with google/rpc/status.proto and
google/rpc/error_details.proto, so that they never clash with the real ones when those are installed too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, message_factory
from google.protobuf.message import DecodeError

DETAILS_KEY = "grpc-status-details-bin"
DOMAIN = "interlock.dev"
_TYPE_PREFIX = "type.googleapis.com/google.rpc."

_FIELD = descriptor_pb2.FieldDescriptorProto


def _field(name: str, number: int, kind: Any, type_name: str = "", *, repeated: bool = False) -> Any:
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    return _FIELD(name=name, number=number, type=kind, type_name=type_name or None, label=label)


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="interlock/sdk/status.proto", package="google.rpc", syntax="proto3")
    file.dependency.extend((any_pb2.DESCRIPTOR.name, duration_pb2.DESCRIPTOR.name))
    status = file.message_type.add(name="Status")
    status.field.append(_field("code", 1, _FIELD.TYPE_INT32))
    status.field.append(_field("message", 2, _FIELD.TYPE_STRING))
    status.field.append(_field("details", 3, _FIELD.TYPE_MESSAGE, ".google.protobuf.Any", repeated=True))
    info = file.message_type.add(name="ErrorInfo")
    info.field.append(_field("reason", 1, _FIELD.TYPE_STRING))
    info.field.append(_field("domain", 2, _FIELD.TYPE_STRING))
    entry = info.nested_type.add(name="MetadataEntry")
    entry.field.append(_field("key", 1, _FIELD.TYPE_STRING))
    entry.field.append(_field("value", 2, _FIELD.TYPE_STRING))
    entry.options.map_entry = True
    info.field.append(_field("metadata", 3, _FIELD.TYPE_MESSAGE, ".google.rpc.ErrorInfo.MetadataEntry", repeated=True))
    retry = file.message_type.add(name="RetryInfo")
    retry.field.append(_field("retry_delay", 1, _FIELD.TYPE_MESSAGE, ".google.protobuf.Duration"))
    return file


def _messages() -> Mapping[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    for known in (any_pb2, duration_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(_file().SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.rpc.{name}"))
        for name in ("Status", "ErrorInfo", "RetryInfo")
    }


_MESSAGES = _messages()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetail:
    """What a gRPC error says besides its code and message; `retry_after` is in seconds."""

    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


def read_details(raw: bytes) -> ErrorDetail:
    """The ErrorInfo and RetryInfo of a serialised Status; what cannot be read says nothing."""
    reason, metadata, retry_after = "", {}, None
    try:
        status = _MESSAGES["Status"].FromString(raw)
        for packed in status.details:
            kind = packed.type_url.rpartition("/")[2]
            if kind == "google.rpc.ErrorInfo":
                info = _MESSAGES["ErrorInfo"].FromString(packed.value)
                reason, metadata = info.reason, dict(info.metadata)
            elif kind == "google.rpc.RetryInfo":
                delay = _MESSAGES["RetryInfo"].FromString(packed.value).retry_delay
                retry_after = delay.seconds + delay.nanos / 1e9
    except DecodeError:
        return ErrorDetail()
    return ErrorDetail(reason=reason, metadata=metadata, retry_after=retry_after)


def write_details(code: int, message: str, detail: ErrorDetail) -> bytes:
    """A serialised Status with the ErrorInfo, and the RetryInfo if there is one.

    >>> read_details(write_details(14, "later", ErrorDetail(reason="DRAINING", retry_after=1.5)))
    ErrorDetail(reason='DRAINING', metadata={}, retry_after=1.5)
    """
    status = _MESSAGES["Status"](code=code, message=message)
    info = _MESSAGES["ErrorInfo"](reason=detail.reason, domain=DOMAIN, metadata=dict(detail.metadata))
    status.details.add(type_url=f"{_TYPE_PREFIX}ErrorInfo", value=info.SerializeToString())
    if detail.retry_after is not None:
        retry = _MESSAGES["RetryInfo"]()
        retry.retry_delay.seconds = int(detail.retry_after)
        retry.retry_delay.nanos = int(detail.retry_after % 1 * 1e9)
        status.details.add(type_url=f"{_TYPE_PREFIX}RetryInfo", value=retry.SerializeToString())
    return bytes(status.SerializeToString())
