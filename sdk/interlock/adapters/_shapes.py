"""The shapes in which models' APIs say tools, calls and results. Dictionaries as JSON has them."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from interlock.adapters._answers import Answer, named
from interlock.adapters._bridge import Asked
from interlock.results import Content, ContentKind
from interlock.tools import Tool

Item: TypeAlias = dict[str, Any]
Reply: TypeAlias = Mapping[str, Any] | Sequence[Any] | Any
"""Dictionaries, or the objects of the vendors' packages, which give them with `model_dump`."""

_PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True)
class Offer:
    """What a model is offered: `tools` and `tool_choice` as its API takes them, and what its prompt should say.

    `tool_choice` is None while the model is free. `request` is both as arguments of a request, without what is empty.
    """

    tools: list[Item]
    tool_choice: Any
    prompt: str

    @property
    def request(self) -> Item:
        """The arguments of a request to the model."""
        given = {"tools": self.tools, "tool_choice": self.tool_choice}
        return {name: value for name, value in given.items() if value}


class Shape(Protocol):
    """One API's shape."""

    def definition(self, name: str, tool: Tool) -> Item:
        """A tool, as a request lists it."""

    def choice(self, name: str) -> Item:
        """A `tool_choice` that leaves this tool alone."""

    def calls(self, reply: Reply) -> list[Asked]:
        """The calls in a model's reply, in order."""

    def results(self, asked: Sequence[Asked], answers: Sequence[Answer]) -> list[Item]:
        """What is added to the conversation after the reply."""


def chat_definition(name: str, tool: Tool) -> Item:
    """A tool as chat completions list it."""
    function = {"name": name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


class ChatShape:
    """OpenAI's chat completions. A tool's message holds text alone: other content is named in its place."""

    def definition(self, name: str, tool: Tool) -> Item:
        """As above."""
        return chat_definition(name, tool)

    def choice(self, name: str) -> Item:
        """As above."""
        return {"type": "function", "function": {"name": name}}

    def calls(self, reply: Reply) -> list[Asked]:
        """The message's `tool_calls`."""
        return [
            Asked(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in _items(reply, "tool_calls")
            if call.get("type", "function") == "function"
        ]

    def results(self, asked: Sequence[Asked], answers: Sequence[Answer]) -> list[Item]:
        """One message for each call."""
        return [
            {"role": "tool", "tool_call_id": call.call_id, "content": answer.text}
            for call, answer in zip(asked, answers, strict=True)
        ]


class ResponsesShape:
    """OpenAI's responses."""

    def definition(self, name: str, tool: Tool) -> Item:
        """As above; not strict, because a schema made strict would be another."""
        definition = {"name": name, "description": tool.description, "parameters": dict(tool.input_schema)}
        return {"type": "function", "strict": False, **definition}

    def choice(self, name: str) -> Item:
        """As above."""
        return {"type": "function", "name": name}

    def calls(self, reply: Reply) -> list[Asked]:
        """The items `function_call`."""
        return [
            Asked(item["name"], item["arguments"], item["call_id"])
            for item in _items(reply, "output")
            if item.get("type") == "function_call"
        ]

    def results(self, asked: Sequence[Asked], answers: Sequence[Answer]) -> list[Item]:
        """One item for each call."""
        return [
            {"type": "function_call_output", "call_id": call.call_id, "output": self._output(answer)}
            for call, answer in zip(asked, answers, strict=True)
        ]

    def _output(self, answer: Answer) -> str | list[Item]:
        return answer.text if answer.is_text else [self._part(part) for part in answer.parts]

    def _part(self, part: Content) -> Item:
        data = f"data:{part.media_type};base64,{_base64(part)}"
        match part.kind:
            case ContentKind.IMAGE:
                return {"type": "input_image", "image_url": data}
            case ContentKind.RESOURCE:
                return {"type": "input_file", "filename": part.name or part.uri or "file", "file_data": data}
        return {"type": "input_text", "text": named(part)}


class AnthropicShape:
    """Anthropic's messages."""

    def definition(self, name: str, tool: Tool) -> Item:
        """As above."""
        return {"name": name, "description": tool.description, "input_schema": dict(tool.input_schema)}

    def choice(self, name: str) -> Item:
        """As above."""
        return {"type": "tool", "name": name}

    def calls(self, reply: Reply) -> list[Asked]:
        """The blocks `tool_use`."""
        return [
            Asked(block["name"], block["input"], block["id"])
            for block in _items(reply, "content")
            if block.get("type") == "tool_use"
        ]

    def results(self, asked: Sequence[Asked], answers: Sequence[Answer]) -> list[Item]:
        """One message with a block for each call: the API wants them all in it."""
        blocks = [self._block(call, answer) for call, answer in zip(asked, answers, strict=True)]
        return [{"role": "user", "content": blocks}] if blocks else []

    def _block(self, call: Asked, answer: Answer) -> Item:
        content = answer.text if answer.is_text else [self._part(part) for part in answer.parts]
        block: Item = {"type": "tool_result", "tool_use_id": call.call_id, "content": content}
        return {**block, "is_error": True} if answer.is_error else block

    def _part(self, part: Content) -> Item:
        source = {"type": "base64", "media_type": part.media_type, "data": _base64(part)}
        if part.kind is ContentKind.IMAGE and part.media_type in _PICTURES:
            return {"type": "image", "source": source}
        if part.media_type == "application/pdf":
            return {"type": "document", "source": source}
        return {"type": "text", "text": named(part)}


def _items(reply: Reply, member: str) -> list[Mapping[str, Any]]:
    """The items of a reply, which may be given by itself; a text is no list of items.

    Raises TypeError for items that are no dictionaries: taken for nothing, they would end a loop without a word.
    """
    reply = _plain(reply)
    found = reply.get(member) if isinstance(reply, Mapping) else reply
    items = [] if found is None or isinstance(found, str) else [_plain(item) for item in found]
    for item in items:
        if not isinstance(item, Mapping):
            raise TypeError(f"a model's reply has dictionaries, not {type(item).__name__}")
    return items


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(warnings=False) if callable(dump) else value


def _base64(part: Content) -> str:
    return b64encode(part.data).decode()
