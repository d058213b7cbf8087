"""Reverse thinking over MCP: the form goes to the model as text, and comes back as one more argument (REV-1).

It is the agent that reflects, and not a person: so no one is elicited. A model can set arguments and nothing else, so
the deliverable is an argument; a client that is a program may send it in `_meta` instead. What is read by a call has no
arguments of its own: there it is in `_meta` alone.
"""

import json
from collections.abc import Mapping
from typing import Any

from interlock_gateway.core.call import ReflectionForm
from interlock_gateway.core.jsonvalue import FrozenJsonObject

ARGUMENT = "_interlock_deliverable"
META = "dev.interlock/deliverable"
_UNFIT: FrozenJsonObject = {}


def deliverable_in(
    arguments: Mapping[str, Any] | None, meta: Mapping[str, Any]
) -> tuple[Mapping[str, Any] | None, FrozenJsonObject | None]:
    """The arguments for the tool, and what the agent thought of the call; `None` when it says nothing of that.

    What is no object counts as one without members, which the pipeline refuses in words that a model can mend.
    """
    found = meta.get(META)
    if arguments is not None and ARGUMENT in arguments:
        found = arguments[ARGUMENT]
        arguments = {name: value for name, value in arguments.items() if name != ARGUMENT}
    if found is None:
        return arguments, None
    return arguments, found if isinstance(found, dict) else _UNFIT


def words_for_reading(form: ReflectionForm) -> str:
    """What is read by whoever wants to read a resource or to get a prompt, and has to reflect first."""
    return f"Send the same request again with the deliverable in `_meta`, under `{META}`. {_schema_of(form)}"


def words_for(form: ReflectionForm) -> str:
    """What a model reads that has to reflect first, beside policy's message and the form's instructions."""
    return (
        f"Give the deliverable as one more argument named `{ARGUMENT}`, beside the others, which stay as they are. "
        f"{_schema_of(form)}"
    )


def _schema_of(form: ReflectionForm) -> str:
    return f"It is an object of this schema:\n{json.dumps(dict(form.schema), ensure_ascii=False)}"
