"""Deciding for agentgateway, which carries the calls itself (EXT-1): every kind of answer, on a foreign description."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from foreign_description import CODES
from other_gateway import READS, Asked, RejectedError, asked, saying, tool


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[Asked]:
    async with asked(socket_directory) as made:
        yield made


@pytest.mark.req("EXT-1")
async def test_a_call_that_policy_allows_passes_and_so_does_its_result(at: Asked) -> None:
    await at.other.list(tool("read", **READS))
    seen: list[Any] = []

    def upstream(params: dict[str, Any]) -> dict[str, Any]:
        seen.append(params)
        return {"content": [{"type": "text", "text": "hello"}], "_meta": {"theirs": 1}}

    answer = await at.other.call("read", {"path": "a"}, upstream)
    assert seen == [{"name": "read", "arguments": {"path": "a"}}]
    assert answer == {"content": [{"type": "text", "text": "hello"}], "_meta": {"theirs": 1}}
