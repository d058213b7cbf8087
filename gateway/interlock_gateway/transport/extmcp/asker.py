"""For whom an MCP gateway asks: it says so with each request, in what its own configuration makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from google.protobuf.struct_pb2 import Struct, Value

from interlock_gateway.core.session import PROXIED, Principal, Role, session_for
from interlock_gateway.errors import RequestError, RequestFault

PRINCIPAL, GROUPS, SESSION, CALL = "interlock_principal", "interlock_groups", "interlock_session", "interlock_call"
"""What the metadata of a request says, by name: whom it is for, their groups, the MCP session, the call it is of."""
MOST = 200
MOST_GROUPS = 200


@dataclass(frozen=True, slots=True)
class Asker:
    """Whom a request is for, in which session, and at which call it was, if it says so."""

    principal: Principal
    session_id: str
    call: str = ""


def asker(caller: Principal, context: Struct) -> Asker:
    """Whom `caller` asks for. Raises `RequestError` when it says nothing, or what cannot be."""
    user = _text(context, PRINCIPAL)
    if not user:
        raise RequestError(RequestFault.INVALID_FIELD, f"the metadata has no {PRINCIPAL}: it is not known for whom")
    principal = Principal(
        f"{PROXIED}{quote(caller.id, safe='')}:{user}", "extmcp", frozenset({Role.AGENT}), _groups(context)
    )
    return Asker(principal, session_for("extmcp", principal.id, _text(context, SESSION)), _text(context, CALL))


def _text(context: Struct, key: str) -> str:
    value = context.fields.get(key)
    return "" if value is None else _checked(value, key)


def _groups(context: Struct) -> tuple[str, ...]:
    value = context.fields.get(GROUPS)
    if value is None or value.WhichOneof("kind") == "null_value":
        return ()
    given: Sequence[Value] = value.list_value.values if value.WhichOneof("kind") == "list_value" else (value,)
    if len(given) > MOST_GROUPS:
        raise RequestError(RequestFault.INVALID_FIELD, f"{GROUPS} in the metadata holds more than {MOST_GROUPS}")
    return tuple(_checked(one, GROUPS) for one in given)


def _checked(value: Value, key: str) -> str:
    text = value.string_value
    if value.WhichOneof("kind") != "string_value" or len(text) > MOST or not (text.isprintable() or not text):
        words = f"{key} in the metadata is not a text of at most {MOST} printable characters"
        raise RequestError(RequestFault.INVALID_FIELD, words)
    return text
