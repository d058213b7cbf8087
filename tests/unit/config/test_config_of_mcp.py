"""Settings of the MCP server that are refused, each with the setting to change (MCP-1)."""

from pathlib import Path

import pytest
from interlock_gateway.config_loader import load_config
from interlock_gateway.errors import ConfigError


def refusal(directory: Path, text: str) -> str:
    """What is said about this configuration."""
    file = directory / "interlock.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_config(file, {})
    return refused.value.message


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('mcp: {listen: ["mcp.sock"]}', "mcp.listen[0] must be unix:PATH or HOST:PORT"),
        ('mcp: {listen: ["127.0.0.1:99999"]}', "mcp.listen[0] has port 99999"),
        ('mcp: {listen: ["unix:{home}/mcp.sock"]}', "mcp.listen[0] holds {home}; the only placeholder is {state}"),
        ('mcp: {listen: ["unix:{state}/agent.sock"]}', "is used for two listeners"),
        ('mcp: {listen: ["10.0.0.1:7090"]}', "mcp.listen[0] is 10.0.0.1:7090, which other hosts can reach, and"),
        ('mcp: {listen: ["0.0.0.0:7090"]}', "mcp.hosts names no host, and mcp.listen[0] is 0.0.0.0:7090"),
        (
            'mcp: {listen: ["10.0.0.1:7090"]}\nidentity: {anonymous_agents_on_loopback: true}',
            "identity.anonymous_agents_on_loopback lets anyone in, and mcp.listen[0] is 10.0.0.1:7090",
        ),
        ('mcp: {hosts: ["https://mcp.example.com"]}', "mcp.hosts[0] is a host's name alone"),
        ('mcp: {hosts: [""]}', "mcp.hosts[0] is a host's name alone"),
        ('mcp: {origins: ["chat.example.com"]}', "mcp.origins[0] is a web origin"),
        ("mcp: {max_sessions: 0}", "mcp.max_sessions"),
    ],
)
def test_what_is_not_safe_or_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


@pytest.mark.req("MCP-1")
def test_it_can_be_reached_from_elsewhere_when_it_says_by_which_name(tmp_path: Path) -> None:
    file = tmp_path / "interlock.yaml"
    file.write_text(
        'mcp: {listen: ["0.0.0.0:7090"], hosts: [mcp.example.com]}\nserver: {plaintext_beyond_loopback: true}',
        encoding="utf-8",
    )
    assert load_config(file, {}).mcp.hosts == ("mcp.example.com",)
    file.write_text(
        'mcp: {listen: ["10.0.0.1:7090"]}\n'
        'server: {listen: ["unix:{state}/agent.sock"], tls: {cert_file: a.crt, key_file: a.key}}',
        encoding="utf-8",
    )
    assert load_config(file, {}).server.tls is not None
    file.write_text("mcp: {listen: []}", encoding="utf-8")
    assert load_config(file, {}).mcp.listen == ()
