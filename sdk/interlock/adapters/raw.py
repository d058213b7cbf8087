"""Tool calls as dictionaries, for programs that speak to a model's API themselves.

    tools = OpenAIChatTools(session)
    while True:
        offer = await tools.offer()
        reply = ...  # the API, with your messages, offer.prompt in the system prompt, and **offer.request
        results = await tools.answer(reply)
        if not results:
            break
        messages += [reply, *results]

| class | speaks | `answer` takes | and gives |
|---|---|---|---|
| `OpenAIChatTools` | chat completions | the assistant's message | messages of role `tool` |
| `OpenAIResponsesTools` | responses | the response's `output` | items `function_call_output` |
| `AnthropicTools` | messages | the assistant's message, or its `content` | one message of role `user`, in a list |

Dictionaries, or the objects of the vendors' packages. The calls of one turn go to the gateway in one batch. `Sync...`
is the same for a `SyncSession`.
"""

from typing import ClassVar

from interlock import Session, SyncSession
from interlock._drivers import AsyncDriver, SyncDriver
from interlock._facade import awaited, called
from interlock._flow import Flow
from interlock.adapters import AdapterOptions
from interlock.adapters._bridge import Bridge
from interlock.adapters._shapes import AnthropicShape, ChatShape, Item, Offer, Reply, ResponsesShape, Shape

__all__ = [
    "AnthropicTools",
    "Offer",
    "OpenAIChatTools",
    "OpenAIResponsesTools",
    "SyncAnthropicTools",
    "SyncOpenAIChatTools",
    "SyncOpenAIResponsesTools",
]


class _Tools:
    shape: ClassVar[Shape]
    bridge: Bridge


def _offer(tools: _Tools) -> Flow[Offer]:
    """What the model is offered now: tools, the one it must call if there is one, and words for its prompt.

    Raises a RequestError.
    """
    turn = yield from tools.bridge.turn()
    definitions = [tools.shape.definition(name, tool) for name, tool in turn.tools.items()]
    return Offer(definitions, tools.shape.choice(turn.required) if turn.required else None, turn.prompt)


def _answer(tools: _Tools, reply: Reply) -> Flow[list[Item]]:
    """Make the calls of a model's reply, and give what is added to the conversation after it; nothing without calls."""
    asked = tools.shape.calls(reply)
    if not asked:
        return []
    answers = yield from tools.bridge.calls(asked)
    return tools.shape.results(asked, answers)


class _AsyncTools(_Tools):
    driver: AsyncDriver

    def __init__(self, session: Session, options: AdapterOptions | None = None) -> None:
        self.bridge, self.driver = Bridge(session, options, Session), session.driver

    offer = awaited(_offer)
    answer = awaited(_answer)


class _SyncTools(_Tools):
    driver: SyncDriver

    def __init__(self, session: SyncSession, options: AdapterOptions | None = None) -> None:
        self.bridge, self.driver = Bridge(session, options, SyncSession), session.driver

    offer = called(_offer)
    answer = called(_answer)


class OpenAIChatTools(_AsyncTools):
    """The gateway's tools towards OpenAI's chat completions."""

    shape = ChatShape()


class OpenAIResponsesTools(_AsyncTools):
    """The gateway's tools towards OpenAI's responses."""

    shape = ResponsesShape()


class AnthropicTools(_AsyncTools):
    """The gateway's tools towards Anthropic's messages."""

    shape = AnthropicShape()


class SyncOpenAIChatTools(_SyncTools):
    """The same for threads."""

    shape = ChatShape()


class SyncOpenAIResponsesTools(_SyncTools):
    """The same for threads."""

    shape = ResponsesShape()


class SyncAnthropicTools(_SyncTools):
    """The same for threads."""

    shape = AnthropicShape()
