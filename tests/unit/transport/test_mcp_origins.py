"""Which hosts and origins a request over MCP may name (MCP-1)."""

import pytest
from interlock_gateway.transport.mcp.origins import Origins
from starlette.datastructures import Headers

KNOWN = Origins(("MCP.example.com", "10.0.0.5"), ("https://Chat.example.com/",))


def refused(*raw: tuple[str, str]) -> bool:
    return KNOWN.refusal(Headers(raw=[(name.encode(), value.encode()) for name, value in raw])) is not None


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:80", "127.0.0.1:7090", "127.8.9.1", "[::1]:7090", "mcp.example.com:443", "10.0.0.5:7090"],
)
def test_hosts_of_the_server_are_known(host: str) -> None:
    assert not refused(("host", host))


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "mcp.example.com.evil.example", "xmcp.example.com", "localhost.", "0.0.0.0:7090", "[::]",
     "10.0.0.6", "127.0.0.1.nip.io", "127.0.0.1:7090@evil.example", "localhost:7090:1", "localhost/evil",
     "[::ffff:10.0.0.9]"],
)  # fmt: skip
def test_others_are_not(host: str) -> None:
    assert refused(("host", host))


@pytest.mark.req("MCP-1")
def test_there_is_one_host_and_one_origin_at_most() -> None:
    assert refused()
    assert refused(("host", "localhost"), ("host", "localhost"))
    assert refused(("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost"))


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize(
    ("origin", "known"),
    [
        ("https://chat.example.com", True),
        ("http://127.0.0.1:3000", True),
        ("http://chat.example.com", False),
        ("https://chat.example.com:8443", False),
        ("https://mcp.example.com", False),
        ("null", False),
        ("file://", False),
        ("http://localhost@evil.example", False),
        ("chrome-extension://abc", False),
        ("http://localhost/evil", False),
    ],
)
def test_origins_are_those_that_were_named_and_loopback(origin: str, known: bool) -> None:
    assert refused(("host", "localhost"), ("origin", origin)) is not known
