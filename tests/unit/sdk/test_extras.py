"""Who imports a part of the SDK without what it needs is told how to get it."""

import importlib
import sys

import pytest

PARTS = {
    "interlock.adapters.openai_agents": ("agents", "openai-agents"),
    "interlock.adapters.langchain": ("langchain.agents.middleware", "langchain"),
    "interlock.adapters.langgraph": ("langchain_core.messages", "langgraph"),
    "interlock.adapters.pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "interlock.toolbox.images": ("PIL", "toolbox"),
    "interlock.toolbox.remote.ssh": ("asyncssh", "ssh"),
}


@pytest.mark.req("SDK-1", "SDK-2")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_without_its_extra_says_what_to_install(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing, extra = PARTS[part]
    monkeypatch.delitem(sys.modules, part, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'interlock-sdk\[{extra}\]'"):
        importlib.import_module(part)
