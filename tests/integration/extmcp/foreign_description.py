"""The external policy protocol of agentgateway, put together from its description in words and not from our proto."""

from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2

PACKAGE = "agentgateway.dev.ext_mcp"
SERVICE = f"/{PACKAGE}.ExtMcp"
STRUCT = ".google.protobuf.Struct"
WRITTEN = """
McpHeader: 1 string key, 2 bytes value
McpRequest: 1 repeated string service_names, 2 string method, 3 Struct metadata_context, 4 optional bytes mcp_request,
  5 repeated McpHeader headers
McpResponse: 1 repeated string service_names, 2 string method, 3 Struct metadata_context, 4 bytes mcp_response
Pass:
AuthorizationError: 1 Code code, 2 string reason, 3 optional bytes mcp_error
HeaderMutation: 1 repeated McpHeader set, 2 repeated string remove
McpRequestResult: oneof 1 Pass pass, oneof 2 bytes mutated, oneof 3 AuthorizationError error,
  4 HeaderMutation header_mutation, 5 Struct metadata
McpResponseResult: oneof 1 Pass pass, oneof 2 bytes mutated, oneof 3 AuthorizationError error
"""
CODES = {"UNKNOWN": 0, "PERMISSION_DENIED": 1, "RESOURCE_EXHAUSTED": 2, "INVALID": 3}

Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {"string": Field.TYPE_STRING, "bytes": Field.TYPE_BYTES}


@dataclass(frozen=True)
class Messages:
    """Classes for the messages."""

    request: Any
    response: Any
    request_result: Any
    response_result: Any


def _field(message: descriptor_pb2.DescriptorProto, words: str) -> None:
    parts = words.split()
    in_oneof = parts[0] == "oneof" and bool(parts.pop(0))
    number = int(parts.pop(0))
    label = parts.pop(0) if parts[0] in ("repeated", "optional") else ""
    kind, name = parts
    field = message.field.add(name=name, number=number)
    field.label = Field.LABEL_REPEATED if label == "repeated" else Field.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    elif kind == "Code":
        field.type, field.type_name = Field.TYPE_ENUM, f".{PACKAGE}.AuthorizationError.Code"
    else:
        field.type = Field.TYPE_MESSAGE
        field.type_name = STRUCT if kind == "Struct" else f".{PACKAGE}.{kind}"
    if in_oneof:
        if not message.oneof_decl:
            message.oneof_decl.add(name="result")
        field.oneof_index = 0
    elif label == "optional":
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def messages() -> Messages:
    """The messages, in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(name="foreign.proto", package=PACKAGE, syntax="proto3")
    file.dependency.append("google/protobuf/struct.proto")
    for line in WRITTEN.replace(",\n ", ",").strip().splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for words in filter(None, (one.strip() for one in fields.split(","))):
            _field(message, words)
        if name == "AuthorizationError":
            code = message.enum_type.add(name="Code")
            for value, number in CODES.items():
                code.value.add(name=value, number=number)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)

    def made(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))

    return Messages(*map(made, ("McpRequest", "McpResponse", "McpRequestResult", "McpResponseResult")))
