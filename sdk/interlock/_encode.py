"""From what callers give to what travels (`interlock.v1`)."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from interlock.calls import Call, CheckpointMode, Deliverable, Json
from interlock.errors import InvalidRequestError
from interlock.v1 import call_pb2, checkpoint_pb2, deliverable_pb2

_MODES = {
    CheckpointMode.WAIT: checkpoint_pb2.CHECKPOINT_MODE_WAIT,
    CheckpointMode.DETACH: checkpoint_pb2.CHECKPOINT_MODE_DETACH,
}

_VERDICTS = {
    "proceed": deliverable_pb2.DELIVERABLE_VERDICT_PROCEED,
    "revise": deliverable_pb2.DELIVERABLE_VERDICT_REVISE,
    "abort": deliverable_pb2.DELIVERABLE_VERDICT_ABORT,
}


@dataclass(frozen=True, slots=True)
class SessionCore:
    """What a session is without its driver: its id, and the default deadline of its requests in seconds."""

    session_id: str
    timeout: float


def new_id(kind: str) -> str:
    """An id that nobody else has, such as `call-3f2a…`; 96 bits."""
    return f"{kind}-{secrets.token_hex(12)}"


def invalid(field: str, words: str) -> InvalidRequestError:
    """The error of a request that is malformed before it is sent; named like the gateway's own."""
    return InvalidRequestError(
        f"{field}: {words}",
        code=grpc.StatusCode.INVALID_ARGUMENT,
        reason="INVALID_FIELD",
        metadata={"field": field},
    )


def json_field(field: str, value: Json | None) -> bytes:
    """A json field: an object as compact UTF-8; text and bytes as they are, for the gateway to judge.

    Raises InvalidRequestError for what JSON cannot hold.
    """
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, str):
            return value.encode()
        return json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise invalid(field, f"not JSON: {error}") from None


def mode_number(mode: CheckpointMode | str) -> checkpoint_pb2.CheckpointMode:
    """A checkpoint mode as it travels.

    Raises InvalidRequestError for a word that is none.
    """
    try:
        return _MODES[CheckpointMode(mode)]
    except ValueError:
        raise invalid("call.checkpoint_mode", f"{mode!r} is neither 'wait' nor 'detach'") from None


def deliverable_message(given: Deliverable | Mapping[str, Any]) -> deliverable_pb2.Deliverable:
    """A deliverable as it travels; a mapping is what a model wrote.

    Raises InvalidRequestError for one with other members, or other types in them.
    """
    try:
        one = given if isinstance(given, Deliverable) else Deliverable(**given)
        return deliverable_pb2.Deliverable(
            hidden_assumptions=one.hidden_assumptions,
            failure_scenarios=one.failure_scenarios,
            verdict=_VERDICTS[one.verdict],
            verdict_reason=one.verdict_reason,
        )
    except KeyError as error:
        raise invalid("call.deliverable.verdict", f"{error} is not proceed, revise or abort") from None
    except (TypeError, ValueError) as error:
        raise invalid("call.deliverable", str(error)) from None


def call_message(session: SessionCore, call: Call) -> call_pb2.ToolCall:
    """A call as it travels, with an id of its own, so that asking again cannot run it twice (PIPE-10).

    Raises InvalidRequestError for what a message cannot hold, such as text that is no Unicode.
    """
    try:
        made = call_pb2.ToolCall(
            session_id=session.session_id,
            call_id=call.call_id or new_id("call"),
            tool=call.tool,
            input=json_field("call.input", call.input),
            workdir=call.workdir,
            checkpoint_mode=mode_number(call.checkpoint_mode),
            intent=call.intent,
            labels=call.labels,
        )
    except (TypeError, ValueError) as error:
        raise invalid("call", str(error)) from None
    if call.deliverable is not None:
        made.deliverable.CopyFrom(deliverable_message(call.deliverable))
    return made
