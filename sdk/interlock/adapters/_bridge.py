"""Between a framework and a session, without I/O: what a turn offers, and what becomes of its calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock import _call_flows, _session_flows
from interlock._encode import SessionCore, new_id
from interlock._flow import Flow
from interlock.adapters import AdapterOptions
from interlock.adapters._answers import DELIVERABLE, Answer, answer_to, answer_to_error
from interlock.adapters._names import Names
from interlock.calls import BatchOutcome, Call, Deliverable, Json
from interlock.errors import (
    DeadlineExceededError,
    GatewayUnavailableError,
    InvalidRequestError,
    NotFoundError,
    RequestError,
)
from interlock.results import CallStatus
from interlock.tools import Tool

MOST_IN_A_BATCH = 100
PATIENCE_S = 5.0
"""How long the gateway may take to say what became of a call whose answer was lost."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model is offered now: tools by the names it knows them by, the one it must call, what its prompt says."""

    tools: Mapping[str, Tool]
    required: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as a model made it; `call_id` is the framework's."""

    name: str
    arguments: Json
    call_id: str = ""


class Bridge:
    """One conversation: remembers names that were given, and calls that people have still to decide about.

    Raises TypeError for a session that is none of `wanted`.
    """

    def __init__(self, session: SessionCore, options: AdapterOptions | None, *wanted: type[SessionCore]) -> None:
        if not isinstance(session, wanted):
            raise TypeError(f"give a {' or '.join(kind.__name__ for kind in wanted)}, not a {type(session).__name__}")
        self._session = session
        self._options = options or AdapterOptions()
        self._names = Names()
        self._awaited: dict[tuple[str, str], str] = {}
        self._forms: dict[str, Mapping[str, Any]] = {}

    def turn(self) -> Flow[Turn]:
        """What the session sees now.

        Raises a RequestError.
        """
        listed = yield from _session_flows.tools(self._session, timeout=self._options.timeout)
        by_name = {tool.name: self._shown(tool) for tool in listed.tools}
        tools = {name: by_name[tool] for name, tool in self._names.give(by_name).items()}
        required = self._names.of(listed.required_tool) if listed.required_tool in by_name else ""
        return Turn(tools, required, listed.prompt)

    def knows(self, name: str) -> bool:
        """Whether the model was offered a tool of the gateway by this name."""
        return self._names.has(name)

    def call(self, asked: Asked) -> Flow[Answer]:
        """Make one call. Raises an InterlockError only if the options say so."""
        call = self._call_of(asked)
        outcome = yield from self._outcome(call)
        self._remember(call, outcome)
        return self._answer(outcome)

    def calls(self, asked: Sequence[Asked]) -> Flow[list[Answer]]:
        """Make the calls of one turn, together where there are several; answers in their order."""
        calls = [self._call_of(one) for one in asked]
        outcomes: list[BatchOutcome] = []
        if len(calls) == 1 or any(self._waiting(call) for call in calls):
            for call in calls:
                outcome = yield from self._outcome(call)
                outcomes.append(outcome)
        else:
            for first in range(0, len(calls), MOST_IN_A_BATCH):
                outcomes += yield from self._batch(calls[first : first + MOST_IN_A_BATCH])
        # All are noted before one of them is raised.
        for call, outcome in zip(calls, outcomes, strict=True):
            self._remember(call, outcome)
        return [self._answer(outcome) for outcome in outcomes]

    def _outcome(self, call: Call) -> Flow[BatchOutcome]:
        waiting = self._waiting(call)
        try:
            if not waiting:
                return (
                    yield from _call_flows.call(
                        self._session,
                        call.tool,
                        call.input,
                        timeout=self._options.timeout,
                        call_id=call.call_id,
                        deliverable=call.deliverable,
                        workdir=call.workdir,
                        checkpoint_mode=call.checkpoint_mode,
                        intent=call.intent,
                        labels=call.labels,
                    )
                )
            record = yield from _call_flows.wait_call(self._session, waiting, timeout=self._options.timeout)
        except RequestError as error:
            found = yield from self._found([call], error)
            return found[0]
        # Without a result it may be running just now, so it is not made again.
        return record.result or DeadlineExceededError("no outcome yet", call_id=waiting)

    def _waiting(self, call: Call) -> str:
        """The id under which the same call waits for people already; empty when none does."""
        return self._awaited.get(_key(call), "") if self._awaited else ""

    def _batch(self, calls: Sequence[Call]) -> Flow[list[BatchOutcome]]:
        try:
            return (yield from _call_flows.batch(self._session, calls, timeout=self._options.timeout))
        except InvalidRequestError:
            # Nothing was begun. Which of them it was is found out by making them one by one.
            outcomes: list[BatchOutcome] = []
            for call in calls:
                outcome = yield from self._outcome(call)
                outcomes.append(outcome)
            return outcomes
        except RequestError as error:
            return (yield from self._found(calls, error))

    def _found(self, calls: Sequence[Call], error: RequestError) -> Flow[list[BatchOutcome]]:
        """What became of calls whose answer was lost; the error where the gateway cannot say."""
        outcomes: list[BatchOutcome] = [error for _ in calls]
        if not isinstance(error, DeadlineExceededError | GatewayUnavailableError):
            return outcomes
        for index, call in enumerate(calls):
            asked = self._waiting(call) or call.call_id
            try:
                record = yield from _call_flows.get_call(self._session, asked, timeout=PATIENCE_S)
            except NotFoundError:
                continue  # it may be on its way still
            except RequestError:
                break
            if record.settled and record.result is not None:
                outcomes[index] = record.result
        return outcomes

    def _call_of(self, asked: Asked) -> Call:
        tool = self._names.tool(asked.name)
        arguments, deliverable = _parted(asked.arguments)
        options = self._options
        return Call(
            tool=tool,
            input=arguments,
            call_id=asked.call_id if options.framework_ids and asked.call_id else new_id("call"),
            deliverable=deliverable,
            workdir=options.workdir,
            checkpoint_mode=options.checkpoint_mode,
            intent=options.intent,
            labels=options.labels,
        )

    def _remember(self, call: Call, outcome: BatchOutcome) -> None:
        if isinstance(outcome, RequestError):
            if self._awaited and isinstance(outcome, NotFoundError):
                self._awaited.pop(_key(call), None)
            return
        if outcome.status is CallStatus.AWAITING_CHECKPOINT:
            self._awaited[_key(call)] = outcome.call_id
        elif self._awaited:
            self._awaited.pop(_key(call), None)
        if outcome.reflection is not None:
            self._forms[call.tool] = outcome.reflection.schema
        if self._options.on_result is not None:
            self._options.on_result(outcome)

    def _answer(self, outcome: BatchOutcome) -> Answer:
        if isinstance(outcome, RequestError):
            if self._options.raises:
                raise outcome
            return answer_to_error(outcome)
        return answer_to(outcome.raise_for_status() if self._options.raises else outcome)

    def _shown(self, tool: Tool) -> Tool:
        """A tool as APIs want it: they ask for what is so anyway, that its input is an object with properties.

        One that was answered with a form takes it as one more argument, which goes beside the input (REV-1).
        """
        schema = {"type": "object", "properties": {}, **tool.input_schema}
        form = self._forms.get(tool.name)
        if form is not None:
            schema["properties"] = {**schema["properties"], DELIVERABLE: dict(form)}
        return replace(tool, input_schema=schema)


def _parted(arguments: Json) -> tuple[Json, Deliverable | None]:
    """A call's input, and the deliverable that a model put among its arguments."""
    if not isinstance(arguments, str | bytes | Mapping):
        # Of replies that were put together by hand, or by servers that mean none by null.
        arguments = "" if arguments is None else json.dumps(arguments, default=str)
    if isinstance(arguments, str | bytes) and DELIVERABLE.encode() not in _raw(arguments):
        return arguments or "{}", None
    try:
        values = _object(arguments)
    except (RecursionError, ValueError):
        return arguments, None  # what is wrong with it is the gateway's to say
    if DELIVERABLE not in values:
        return arguments, None
    return {name: value for name, value in values.items() if name != DELIVERABLE}, _deliverable(values[DELIVERABLE])


def _deliverable(given: Any) -> Deliverable:
    """What a model wrote, as far as it has the form's shape; what is missing is the gateway's to say."""
    members = given if isinstance(given, Mapping) else {}
    return Deliverable(
        hidden_assumptions=_texts(members.get("hidden_assumptions")),
        failure_scenarios=_texts(members.get("failure_scenarios")),
        verdict=members.get("verdict", ""),
        verdict_reason=str(members.get("verdict_reason", "")),
    )


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _object(arguments: Json) -> Mapping[str, Any]:
    if isinstance(arguments, Mapping):
        return arguments
    values = json.loads(arguments, object_pairs_hook=_unambiguous)
    return values if isinstance(values, dict) else {}


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key more than once")
    return values


def _key(call: Call) -> tuple[str, str]:
    """What makes a call the same call to a model: its tool and its input, however that is written."""
    try:
        return call.tool, json.dumps(_object(call.input), sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        return call.tool, repr(call.input)


def _raw(text: str | bytes) -> bytes:
    return text.encode(errors="surrogatepass") if isinstance(text, str) else text
