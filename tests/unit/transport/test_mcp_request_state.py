"""What a client carries between two requests of one call (MCP-1)."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from interlock_gateway.transport.mcp.request_state import AskedFor, RequestStateError, Seal, new_round

KEY = bytes(range(32))
NOW = 1_000_000.0
ASKED = AskedFor("agent", "s", "drop", b'{"table":"users","n":1.0,"deep":{"a":1,"b":[1,2]}}')


@dataclass
class StillClock:
    at: float = NOW

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def seal(clock: StillClock | None = None, key: bytes = KEY) -> Seal:
    return Seal(key, clock or StillClock())


def refused(word: str, asked: AskedFor = ASKED, **made: Any) -> str:
    with pytest.raises(RequestStateError) as caught:
        seal(**made).open(word, asked)
    return str(caught.value)


@pytest.mark.req("MCP-1")
def test_a_round_comes_back_as_it_was_and_no_word_shows_what_is_in_it() -> None:
    asking = new_round(NOW + 60, "chk-1", "call-1", "d" * 64)
    words = [seal().seal(asking, ASKED) for _ in range(2)]

    assert [seal().open(word, ASKED) for word in words] == [asking, asking]
    assert words[0] != words[1]
    assert "chk-1" not in words[0]
    assert new_round(NOW).use != new_round(NOW).use


@pytest.mark.req("MCP-1")
def test_input_counts_by_its_value() -> None:
    word = seal().seal(new_round(NOW + 60), ASKED)
    same = replace(ASKED, input=b'{ "n": 1.0, "deep": {"b": [1, 2], "a": 1}, "table": "users" }')

    assert seal().open(word, same)
    for other in (b'{"table":"users","n":1.0,"deep":{"a":1,"b":[2,1]}}', b'{"table":"users"}', b"{}", b""):
        assert "not for this request" in refused(word, replace(ASKED, input=other))


@pytest.mark.req("MCP-1", "SEC-1")
@pytest.mark.parametrize("changed", [{"principal": "other"}, {"session_id": "t"}, {"tool": "drop2"}])
def test_a_word_opens_for_nobody_and_nothing_else(changed: dict[str, Any]) -> None:
    word = seal().seal(new_round(NOW + 60), ASKED)

    assert "not for this request" in refused(word, replace(ASKED, **changed))


@pytest.mark.req("MCP-1", "SEC-1")
def test_whatever_is_changed_in_a_word_it_does_not_open() -> None:
    word = seal().seal(new_round(NOW + 60, "chk-1", "call-1", "d" * 64), ASKED)
    others = {word[:at] + ("A" if word[at] != "A" else "B") + word[at + 1 :] for at in range(len(word))}

    assert word not in others
    for other in (*others, word + "=", word + "A", word[:-1], "", "i1.", "i1.AAAA", "i1." + "A" * 5000, "ü"):
        refused(other)


@pytest.mark.req("MCP-1")
def test_a_word_is_good_until_it_expires_and_under_its_own_key() -> None:
    clock = StillClock()
    word = seal(clock).seal(new_round(NOW + 60), ASKED)
    clock.at = NOW + 59.9
    assert seal(clock).open(word, ASKED)
    clock.at = NOW + 60

    assert refused(word, clock=clock) == "it has expired"
    assert "not made here" in refused(word, key=bytes(32))
