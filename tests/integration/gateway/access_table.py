"""Every RPC that the gateway knows, and who may call it: `access.yaml`, held against the protos and the gateway."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import yaml
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from interlock import v1
from interlock_gateway.core.session import Role

DETAILS_KEY = "grpc-status-details-bin"
ANYBODY = "anybody"
PATIENCE_S = 10.0
SHOWS_A_NAME = ("_id", "uri", "provider", "service")
"""How the name of a field ends that names something; `access.yaml` has to say of each what it names."""


@dataclass(frozen=True)
class Row:
    """What `access.yaml` says about one RPC; it explains the columns."""

    roles: frozenset[Role]
    anybody: bool
    names: Mapping[str, str]
    shared: tuple[str, ...]
    request: Mapping[str, Any]
    unknown: str
    absent: Mapping[str, str]

    @property
    def is_served(self) -> bool:
        return self.anybody or bool(self.roles)


def _row(written: dict[str, Any]) -> Row:
    roles = written.pop("roles")
    return Row(
        roles=frozenset(Role(role) for role in roles if role != ANYBODY),
        anybody=ANYBODY in roles,
        names=written.pop("names", {}),
        shared=tuple(written.pop("shared", ())),
        request=written.pop("request", {}),
        unknown=written.pop("unknown", ""),
        absent=written.pop("absent", {}),
        **written,
    )


ROWS = {
    name: _row(dict(written))
    for name, written in yaml.safe_load((Path(__file__).parent / "access.yaml").read_text(encoding="utf-8")).items()
}


@cache
def services() -> tuple[ServiceDescriptor, ...]:
    """Every service of the contract, and those of others that the gateway serves, from their descriptors."""
    modules = [importlib.import_module(f"interlock.v1.{one.name}") for one in pkgutil.iter_modules(v1.__path__)]
    files: list[Any] = [*(one for one in modules if hasattr(one, "DESCRIPTOR")), health_pb2, reflection_pb2]
    return tuple(service for file in files for service in file.DESCRIPTOR.services_by_name.values())


def methods() -> Iterator[MethodDescriptor]:
    """Every RPC of those services."""
    for service in services():
        yield from service.methods


def row_of(method: MethodDescriptor) -> str:
    return f"{method.containing_service.name}/{method.name}"


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def method_of(row: str) -> MethodDescriptor:
    return next(method for method in methods() if row_of(method) == row)


def naming_fields(message: Descriptor, above: str = "", depth: int = 4) -> Iterator[str]:
    """The fields of a request, and of what is inside it, that look as if they named something."""
    for field in message.fields:
        here = f"{above}{field.name}{'[]' if field.is_repeated else ''}"
        if field.message_type is not None and depth:
            yield from naming_fields(field.message_type, f"{here}.", depth - 1)
        elif field.type == field.TYPE_STRING and field.name.endswith(SHOWS_A_NAME):
            yield here


def request_with(method: MethodDescriptor, named: Mapping[str, str]) -> bytes:
    """A request that is whole besides what it names: `named` has a value for each field that does, by its path."""
    tree: dict[str, Any] = json_format.MessageToDict(
        json_format.ParseDict(dict(ROWS[row_of(method)].request), message_factory.GetMessageClass(method.input_type)()),
        preserving_proto_field_name=True,
    )
    for path, value in named.items():
        at: Any = tree
        *above, last = path.split(".")
        for part in above:
            name = part.removesuffix("[]")
            at = at.setdefault(name, [{}] if part.endswith("[]") else {})
            at = at[0] if part.endswith("[]") else at
        at[last] = value
    if row_of(method) == "GatewayService/Rollback" and not tree.keys() & {"last_operation_id", "since_call_id"}:
        tree["count"] = 1
    made: Any = json_format.ParseDict(tree, message_factory.GetMessageClass(method.input_type)())
    return bytes(made.SerializeToString())


def request_of(method: MethodDescriptor, session_id: str, uri: str) -> Any:
    """A request that is about that session, or that artifact, as far as the RPC is about one."""
    values = {"session": session_id, "artifact": uri}
    named = {path: values[kind] for path, kind in ROWS[row_of(method)].names.items() if kind in values}
    return message_factory.GetMessageClass(method.input_type).FromString(request_with(method, named))


class Refusal:
    """What a call ended with: its code, and the reason in its ErrorInfo; code OK when it was served."""

    def __init__(self, error: grpc.aio.AioRpcError | None, answers: tuple[bytes, ...] = ()) -> None:
        self.code = error.code() if error is not None else grpc.StatusCode.OK
        self.message = error.details() or "" if error is not None else ""
        self.info = ErrorInfo()
        self.details: list[Any] = []
        self.answers = answers
        for key, value in (error.trailing_metadata() or ()) if error is not None else ():
            if key == DETAILS_KEY and isinstance(value, bytes):
                self.read(value)

    def read(self, raw: bytes) -> None:
        """Take in an encoded `google.rpc.Status`, whose first detail is the ErrorInfo."""
        self.details = list(Status.FromString(raw).details)
        self.details[0].Unpack(self.info)

    @property
    def reason(self) -> str:
        return str(self.info.reason)


async def asked(
    channel: grpc.aio.Channel, path: str, request: bytes, *, token: str = "", streaming: bool = False, **headers: str
) -> Refusal:
    """Call an RPC by its path with these bytes, and say how it ended."""
    metadata = [*headers.items(), *([("authorization", f"Bearer {token}")] if token else [])]
    answers: list[bytes] = []
    try:
        if streaming:
            stream: Any = channel.unary_stream(path)
            called = stream(request, metadata=metadata, timeout=PATIENCE_S)
            async for answer in called:
                answers.append(answer)
                if "/Watch" in path:  # it has no end of its own
                    called.cancel()
                    break
        else:
            unary: Any = channel.unary_unary(path)
            answers.append(await unary(request, metadata=metadata, timeout=PATIENCE_S))
    except grpc.aio.AioRpcError as error:
        return Refusal(error, tuple(answers))
    return Refusal(None, tuple(answers))
