"""Adapters: the gateway's tools in frameworks that know nothing of the gateway.

    interlock.adapters.openai_agents    OpenAI Agents SDK     pip install 'interlock-sdk[openai-agents]'
    interlock.adapters.langchain        LangChain             pip install 'interlock-sdk[langchain]'
    interlock.adapters.langgraph        LangGraph             pip install 'interlock-sdk[langgraph]'
    interlock.adapters.pydantic_ai      Pydantic AI           pip install 'interlock-sdk[pydantic-ai]'
    interlock.adapters.raw              tool calls as dictionaries, of OpenAI and Anthropic; needs nothing

They promise the same (SDK-2). A model is offered what the session sees now: names, descriptions and schemas as the
gateway lists them, `resolve` while something is pending, and then that tool alone where the framework can say so.
Every call goes through the session. Whatever becomes of it, and it need not have run, is a result that the model
reads, with the gateway's own words; nothing is raised unless `AdapterOptions.raises` says so. Cancelling the
framework's run cancels the call.

One session is one conversation: make an adapter for each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from interlock.calls import CheckpointMode
from interlock.results import CallResult

__all__ = ["AdapterOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterOptions:
    """How an adapter makes calls.

    `timeout` is the deadline of each request in seconds, the session's when None: a minute, unless the gateway was
    opened with another, which is little where people decide. With `checkpoint_mode="detach"` a
    call that a person has to decide about is answered at once; when the model makes it again, it waits for the outcome,
    up to `timeout`. `raises` raises an InterlockError for each call that did not complete, which ends the framework's
    run. `framework_ids` takes the framework's ids of tool calls as those of the gateway: a call that is made again
    after a crash then runs once. Only for models whose ids are never used twice in one conversation.
    `on_result` is handed every result, before the model is. `workdir`, `intent` and `labels` go with each call.
    """

    timeout: float | None = None
    checkpoint_mode: CheckpointMode | Literal["wait", "detach"] = CheckpointMode.WAIT
    raises: bool = False
    framework_ids: bool = False
    on_result: Callable[[CallResult], None] | None = None
    workdir: str = ""
    intent: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
