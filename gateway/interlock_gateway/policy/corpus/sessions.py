"""A corpus as it is written: `tools.yaml` with a catalogue of tools, `<domain>/<sentence>.yaml` with one session each.

What is wanted of a call is what a careful reviewer wants, whatever the rules say about it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from interlock_gateway.core.tool import PinState
from interlock_gateway.pipeline.schema import CompiledSchema, InvalidSchemaError
from interlock_gateway.policy.cases import CasePrincipal, CaseTool
from interlock_gateway.policy.settings import PolicySourceError, read_yaml

CATALOGUE = "tools.yaml"
_OPEN: dict[str, Any] = {"type": "object"}


class Harm(StrEnum):
    """What a call does to those whose agent it is, if it runs."""

    NONE = "none"
    DATA_LOSS = "data_loss"
    EXFILTRATION = "exfiltration"
    PRIVILEGE = "privilege"
    FRAUD = "fraud"


class Wanted(StrEnum):
    """What should become of a call: it runs and nobody is bothered; a person is asked, or it is denied; or either."""

    FREE = "pass"
    ASK = "ask"
    EITHER = "either"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CatalogueTool(_Part):
    """A tool of the catalogue; without `metadata` it is undeclared.

    Its input schema is made of `arguments`, each with its JSON type or `any`; `maybe` before it says that it may be
    left out.
    """

    about: str = ""
    metadata: dict[str, Any] | None = None
    capability: dict[str, Any] | None = None
    pin_state: PinState = PinState.PINNED
    arguments: dict[str, str] = {}

    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the tool's input."""
        types = {name: kind.removeprefix("maybe ") for name, kind in self.arguments.items()}
        properties = {name: {} if kind == "any" else {"type": kind} for name, kind in types.items()}
        required = [name for name, kind in self.arguments.items() if not kind.startswith("maybe ")]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class SessionCall(_Part):
    """One call. `wanted` holds for every profile; `strict` says what is wanted of the strict one, when that differs.

    A call that would do harm is always to be asked about or denied. `missed` says why the library lets it through all
    the same, `returns` what the agent then reads, and `after_s` how long after the last call it is made.
    """

    tool: str
    input: dict[str, JsonValue] = {}
    harm: Harm = Harm.NONE
    wanted: Wanted | None = None
    strict: Wanted | None = None
    missed: str = ""
    returns: str = ""
    after_s: float = Field(default=8.0, ge=0)

    def wanted_under(self, profile: str) -> Wanted:
        """What a reviewer wants of this call under a profile."""
        if self.harm is not Harm.NONE:
            return Wanted.ASK
        if profile == "strict" and self.strict is not None:
            return self.strict
        return self.wanted or Wanted.FREE


class SessionFile(_Part):
    """One session as it is written. `about` says what the agent is to do, and what goes wrong if something does."""

    about: str
    kind: Literal["benign", "attack"]
    held_out: bool = False
    intent: str = ""
    labels: dict[str, Any] = {}
    principal: CasePrincipal = CasePrincipal()
    begins: datetime = datetime(2026, 3, 3, 10, 0, tzinfo=UTC)
    workdir: str = "/home/ada/project"
    calls: list[SessionCall] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class CorpusSession:
    """A session ready to be played: `name` is `domain/sentence`; `tools` are those that it calls, by name."""

    name: str
    file: SessionFile
    tools: dict[str, CaseTool]

    @property
    def domain(self) -> str:
        """The directory it lies in."""
        return self.name.partition("/")[0]


def load_corpus(directory: Path) -> tuple[CorpusSession, ...]:
    """Every session under `directory`, sorted by name. Raises `PolicySourceError` for what cannot be played.

    That is a file that cannot be read, a tool that the catalogue does not have, an input that its tool would refuse.
    """
    tools = _catalogue(directory)
    paths = sorted(path for path in directory.rglob("*.yaml") if path != directory / CATALOGUE)
    return tuple(_session(path, path.relative_to(directory).as_posix(), tools) for path in paths)


def _catalogue(directory: Path) -> dict[str, CaseTool]:
    listed = read_yaml(directory / CATALOGUE, CATALOGUE)
    tools = {name: _valid(CatalogueTool, one, f"{CATALOGUE}, {name}") for name, one in listed.items()}
    return {
        name: CaseTool(
            name=name,
            metadata=tool.metadata,
            capability=tool.capability,
            pin_state=tool.pin_state,
            input_schema=tool.input_schema(),
        )
        for name, tool in tools.items()
    }


def _session(path: Path, place: str, tools: dict[str, CaseTool]) -> CorpusSession:
    file = _valid(SessionFile, read_yaml(path, place), place)
    for number, call in enumerate(file.calls, 1):
        _check(call, tools, f"{place}, call {number}")
    if file.kind == "benign" and any(call.harm is not Harm.NONE for call in file.calls):
        raise PolicySourceError(place, "a benign session does no harm")
    return CorpusSession(place.removesuffix(".yaml"), file, {call.tool: tools[call.tool] for call in file.calls})


def _check(call: SessionCall, tools: dict[str, CaseTool], place: str) -> None:
    if call.tool not in tools:
        raise PolicySourceError(place, f"{CATALOGUE} has no tool {call.tool}")
    if call.harm is not Harm.NONE and (call.wanted or call.strict):
        raise PolicySourceError(place, "what is wanted of a call that does harm goes without saying")
    try:
        problems = CompiledSchema(tools[call.tool].input_schema or _OPEN).problems(call.input)
    except InvalidSchemaError as error:
        raise PolicySourceError(CATALOGUE, f"{call.tool}: {error}") from error
    if problems:
        raise PolicySourceError(place, "; ".join(problems))


_Model = TypeVar("_Model", bound=BaseModel)


def _valid(model: type[_Model], value: object, place: str) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise PolicySourceError(place, f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
