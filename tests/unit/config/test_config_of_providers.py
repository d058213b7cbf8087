"""What is refused among the settings of providers, and where their files are looked for."""

from pathlib import Path

import pytest
from interlock_gateway.config_loader import InvalidConfigError, load_config

REFUSED = {
    "a token to another host in plain text": (
        "{name: a, address: 'tools.example.org:7090', token: t}",
        (
            "providers[0].token would be sent to tools.example.org:7090 in plain text: set tls, or say "
            "plaintext_beyond_loopback: true"
        ),
    ),
    "tls on a socket": (
        "{name: a, address: 'unix:/run/a.sock', tls: {}}",
        "providers[0].tls encrypts TCP, and the provider's address is a Unix socket",
    ),
    "a key without a certificate": (
        "{name: a, address: '127.0.0.1:1', tls: {key_file: a.key}}",
        "providers[0].tls.key_file is given without providers[0].tls.cert_file",
    ),
    "two names": (
        "{name: a, address: '127.0.0.1:1', tls: {server_name: a, spiffe_id: spiffe://example.org/a}}",
        "providers[0].tls.spiffe_id and providers[0].tls.server_name are both given; one says who it is",
    ),
    "a SPIFFE ID of nobody in particular": (
        "{name: a, address: '127.0.0.1:1', tls: {spiffe_id: spiffe://example.org}}",
        "providers[0].tls.spiffe_id must have a path: a trust domain is nobody in particular",
    ),
    "an MCP server with a token of gRPC": (
        "{name: a, token: t, mcp: {url: 'https://a/mcp'}}",
        "providers[0].token is of providers that speak gRPC; this one has mcp",
    ),
    "an MCP server that is nowhere": ("{name: a, mcp: {}}", "providers[0].mcp needs either url or command"),
    "an MCP server in two places": (
        "{name: a, mcp: {url: 'https://a/mcp', command: [a]}}",
        "providers[0].mcp needs either url or command",
    ),
    "an MCP server by another protocol": (
        "{name: a, mcp: {url: 'ws://a/mcp'}}",
        "providers[0].mcp.url must be an http:// or https:// URL",
    ),
    "a password in a URL": (
        "{name: a, mcp: {url: 'https://me:pw@a/mcp'}}",
        "providers[0].mcp.url holds a name or a password; use headers",
    ),
    "a port that is none": ("{name: a, mcp: {url: 'https://a:99999/mcp'}}", "providers[0].mcp.url is not a URL"),
    "headers to another host in plain text": (
        "{name: a, mcp: {url: 'http://tools.example.org/mcp', headers: {Authorization: t}}}",
        ("providers[0].mcp.headers would be sent in plain text: use https://, or say plaintext_beyond_loopback: true"),
    ),
    "a header in two lines": (
        '{name: a, mcp: {url: "https://a/mcp", headers: {X: "1\\r\\nHost: b"}}}',
        "providers[0].mcp.headers cannot hold X",
    ),
    "a header of our own": (
        "{name: a, mcp: {url: 'https://a/mcp', headers: {Mcp-Session-Id: '1'}}}",
        "providers[0].mcp.headers cannot hold Mcp-Session-Id",
    ),
    "tls for http": (
        "{name: a, tls: {}, mcp: {url: 'http://127.0.0.1/mcp'}}",
        "providers[0].tls encrypts https://, and the server's url is http://",
    ),
    "headers for a command": (
        "{name: a, mcp: {command: [a], headers: {X: '1'}}}",
        "providers[0].mcp has a command; headers and tls are a url's",
    ),
    "an environment for a URL": (
        "{name: a, mcp: {url: 'https://a/mcp', environment: {X: '1'}}}",
        "providers[0].mcp has a url; environment and working_directory are a command's",
    ),
    "a variable that is none": (
        "{name: a, mcp: {command: [a], environment: {'X=Y': '1'}}}",
        "providers[0].mcp.environment cannot hold X=Y",
    ),
    "a command that is none": ("{name: a, mcp: {command: ['']}}", "providers[0].mcp.command cannot be run"),
    "no address": ("{name: a, address: tools}", "providers[0].address must be unix:PATH or HOST:PORT, not tools"),
}


@pytest.mark.req("TOOL-4")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_safe_is_refused_with_the_setting_to_change(tmp_path: Path, case: str) -> None:
    written, words = REFUSED[case]
    file = tmp_path / "interlock.yaml"
    file.write_text(f"providers: [{written}]\n", encoding="utf-8")
    with pytest.raises(InvalidConfigError) as refused:
        load_config(file, {})
    assert [problem.message for problem in refused.value.problems] == [words]


@pytest.mark.req("TOOL-4")
@pytest.mark.parametrize(
    "written",
    [
        "{name: a, address: 'tools.example.org:7090', token: t, tls: {}}",
        "{name: a, address: 'tools.example.org:7090', token: t, plaintext_beyond_loopback: true}",
        "{name: a, address: '127.0.0.1:7090', token: t}",
        "{name: a, address: 'unix:/run/a.sock', token: t}",
    ],
)
def test_a_token_may_go_where_nobody_else_reads_it_or_where_that_is_said_outright(tmp_path: Path, written: str) -> None:
    file = tmp_path / "interlock.yaml"
    file.write_text(f"providers: [{written}]\n", encoding="utf-8")
    assert load_config(file, {}).providers[0].token == "t"


def test_certificates_are_looked_for_beside_the_file_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "interlock.yaml"
    file.write_text(
        "providers: [{name: a, address: 'a:1', tls: {ca_file: ca.pem}}]\n"
        "provider_credentials: {mesh: {tls: {cert_file: me.crt, key_file: /keys/me.key}}}\n",
        encoding="utf-8",
    )
    config = load_config(file, {})
    credentials = config.provider_credentials["mesh"]
    assert config.providers[0].tls is not None
    assert config.providers[0].tls.ca_file == tmp_path / "ca.pem"
    assert credentials.tls is not None
    assert (credentials.tls.cert_file, credentials.tls.key_file) == (tmp_path / "me.crt", Path("/keys/me.key"))
