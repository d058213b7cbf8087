"""Whose address it is: templates of addresses, matched without backtracking (MCP-3)."""

import time

import pytest
from interlock_gateway.transport.mcp.shelves import fits


@pytest.mark.req("MCP-3")
@pytest.mark.parametrize(
    ("uri", "template", "whether"),
    [
        ("docs://page", "docs://page", True),
        ("docs://page2", "docs://page", False),
        ("docs://users/ada/profile", "docs://users/{user}/profile", True),
        ("docs://users//profile", "docs://users/{user}/profile", True),
        ("docs://users/profile", "docs://users/{user}/profile", False),
        ("docs://a/b/c", "docs://{+path}", True),
        ("docs://a-b-c", "docs://{x}-{y}-{z}", True),
        ("docs://a-b", "docs://{x}-{y}-{z}", False),
        ("docs://aXbXaX", "docs://{x}aX", True),
        ("docs://aXX", "docs://a{x}XX", True),
        ("docs://aX", "docs://a{x}XX", False),
        ("other://page", "{scheme}://page", True),
        ("docs://(x)", "docs://(x)", True),
    ],
)
def test_an_expression_stands_for_any_text(uri: str, template: str, whether: bool) -> None:
    assert fits(uri, template) is whether


@pytest.mark.req("MCP-3", "SEC-1")
def test_no_template_takes_long() -> None:
    began = time.process_time()
    assert not fits("docs://" + "a" * 20_000, "docs://" + "{x}a" * 5_000 + "b")
    assert time.process_time() - began < 1.0
