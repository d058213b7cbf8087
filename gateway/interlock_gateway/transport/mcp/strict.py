"""Messages are read strictly, before the SDK: what parsers could read differently goes no further (SEC-1)."""

import json
from typing import Any

from interlock_gateway.core.document import InvalidDocumentError, parse

PARSE_ERROR = -32700
SAME_ID = "a request with this id waits for its answer; each is to have an id of its own"
"""Why a second request is refused (MCP, basic protocol: an id is not used again in a session). It is told without the
id, which would be taken for the answer to the first."""
ENVELOPE_DEPTH = 4
"""How deep in a message the arguments of a call lie, with room for what stands around them in other requests."""


class BadMessageError(Exception):
    """A message that is refused. `message` says why; `request_id` is its id, as far as that can be told."""

    def __init__(self, message: str, request_id: "str | int | None") -> None:
        super().__init__(message)
        self.message = message
        self.request_id = request_id

    def answer(self) -> bytes:
        """The JSON-RPC error that says so."""
        error = {"code": PARSE_ERROR, "message": f"the message is refused: {self.message}"}
        return json.dumps({"jsonrpc": "2.0", "id": self.request_id, "error": error}).encode()


def read_message(raw: bytes, *, max_depth: int) -> dict[str, Any]:
    """One JSON-RPC message as values. Raises `BadMessageError`: no object, or not strict JSON (`core.document`)."""
    try:
        return parse(raw, max_depth=max_depth + ENVELOPE_DEPTH).value
    except InvalidDocumentError as error:
        words = error.message.replace("input", "it", 1) if error.message.startswith("input") else error.message
        raise BadMessageError(words, _id_in(raw)) from None


def _id_in(raw: bytes) -> "str | int | None":
    """The id to answer to: whoever waits for it should hear that it was refused."""
    try:
        loose = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    found = loose.get("id") if isinstance(loose, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None
