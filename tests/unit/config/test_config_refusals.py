"""Settings that are not safe together, or that contradict each other, are refused."""

from pathlib import Path

import pytest
from interlock_gateway.config_loader import InvalidConfigError, load_config

SHA = "ab" * 32


def refusal(tmp_path: Path, text: str) -> str:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(InvalidConfigError) as caught:
        load_config(file, {})
    return str(caught.value).replace(f"{file}:", "")


@pytest.mark.parametrize("address", ["0.0.0.0:7080", "[::]:7080", "10.0.0.1:7080", "gateway.internal:7080"])
def test_listening_beyond_loopback_is_refused_unless_it_is_said_outright(tmp_path: Path, address: str) -> None:
    said = refusal(tmp_path, f"server:\n  listen:\n    - unix:/a\n    - '{address}'\n")
    assert said == (
        f"4: server.listen[1] is {address}, which other hosts can reach, and connections are not encrypted: set "
        "server.tls, listen on loopback or a Unix socket, or say server.plaintext_beyond_loopback: true when something "
        "else encrypts them"
    )
    file = tmp_path / "outright.yaml"
    file.write_text(f"server: {{listen: ['{address}'], plaintext_beyond_loopback: true}}")
    assert load_config(file, {}).server.listen == (address,)


def test_health_may_be_told_beyond_loopback_but_not_on_a_socket(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("server: {health_listen: '0.0.0.0:7082'}")
    assert load_config(file, {}).server.health_listen == "0.0.0.0:7082"
    said = refusal(tmp_path, "server: {health_listen: 'unix:/a'}")
    assert said == "1: server.health_listen must be HOST:PORT, not a Unix socket"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "127.9.9.9:1", "[::1]:7080", "localhost:7080", "unix:///run/a"])
def test_listening_on_loopback_needs_no_more_words(tmp_path: Path, address: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"server: {{listen: ['{address}']}}")
    assert load_config(file, {}).server.listen == (address,)


@pytest.mark.req("OBS-2")
def test_headers_for_a_collector_are_not_sent_in_plain_text_beyond_loopback(tmp_path: Path) -> None:
    said = refusal(tmp_path, "tracing:\n  endpoint: http://collector:4318\n  headers_file: /headers\n")
    assert said == (
        "3: tracing.headers_file would be sent to http://collector:4318 in plain text: use https://, or say "
        "server.plaintext_beyond_loopback: true"
    )
    file = tmp_path / "c.yaml"
    for rest in (
        "{endpoint: 'https://collector:4318', headers_file: /headers}",
        "{endpoint: 'http://127.0.0.1:4318', headers_file: /headers}",
        "{endpoint: 'http://collector:4318'}",
        "{endpoint: 'http://collector:4318', headers_file: /headers}\nserver: {plaintext_beyond_loopback: true}",
    ):
        file.write_text(f"tracing: {rest}")
        assert load_config(file, {}).tracing.endpoint


@pytest.mark.req("AUTH-1")
def test_anonymous_agents_are_refused_on_a_listener_that_other_hosts_can_reach(tmp_path: Path) -> None:
    said = refusal(
        tmp_path,
        "server: {listen: ['0.0.0.0:7080'], plaintext_beyond_loopback: true}\n"
        "identity: {anonymous_agents_on_loopback: true}\n",
    )
    assert said == (
        "2: identity.anonymous_agents_on_loopback lets anyone in, and server.listen[0] is 0.0.0.0:7080, which other "
        "hosts can reach: use tokens, or listen on loopback only"
    )


@pytest.mark.req("AUTH-1")
def test_operators_are_never_listened_for_on_tcp(tmp_path: Path) -> None:
    assert refusal(tmp_path, "server: {operator_listen: ['127.0.0.1:7081']}") == (
        "1: server.operator_listen[0] is 127.0.0.1:7081: an operator is whoever may open a Unix socket, so it must be "
        "unix:PATH"
    )


@pytest.mark.req("AUTH-1")
def test_one_socket_for_agents_and_operators_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, "server:\n  listen: ['unix:/run/i.sock']\n  operator_listen: ['unix:///run/i.sock']\n")
    assert said.startswith("3: /run/i.sock is used for two listeners")


@pytest.mark.req("AUTH-1")
def test_one_principal_for_both_sockets_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, "identity: {unix_agent: me, unix_operator: me}")
    assert said.endswith("are both me: an agent must not be its own operator")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: {listen: []}", "1: server.listen is empty: no agent could reach the gateway"),
        ("server: {listen: ['x']}", "1: server.listen[0] must be unix:PATH or HOST:PORT, not x"),
        ("server: {listen: ['']}", "1: server.listen[0] must be unix:PATH or HOST:PORT, not empty"),
        ("server: {listen: ['unix-abstract:x']}", "1: server.listen[0] must be unix:PATH or HOST:PORT"),
        ("server: {listen: ['::1:7080']}", "1: server.listen[0] must be unix:PATH or HOST:PORT"),
        ("server: {listen: ['localhost:65536']}", "1: server.listen[0] has port 65536; the highest is 65535"),
        ("server: {listen: ['unix:a.sock']}", "1: server.listen[0] must name an absolute path after unix:, not a.sock"),
        ("server: {operator_listen: ['unix:']}", "1: server.operator_listen[0] must name an absolute path after unix:"),
        (f"server: {{listen: ['unix:/{'x' * 120}']}}", "1: server.listen[0] has a path of 121 bytes"),
        ("server: {listen: ['unix:{sate}/a']}", "1: server.listen[0] holds {sate}; the only placeholder is {state}"),
        ("audit: {dir: '{home}'}", "1: audit.dir holds {home}; the only placeholder is {state}"),
        ("metrics: {listen: 'unix:/a'}", "1: metrics.listen must be HOST:PORT, not a Unix socket"),
        ("metrics: {listen: '9464'}", "1: metrics.listen must be unix:PATH or HOST:PORT, not 9464"),
        ("providers: [{name: a, address: x}]", "1: providers[0].address must be unix:PATH or HOST:PORT, not x"),
        ("limits: {max_timeout_s: 60}", "1: limits.default_timeout_s is 120, more than limits.max_timeout_s"),
        ("artifacts: {url: '/tmp'}", "1: artifacts.url must begin with file://, s3://, gs:// or az://"),
        ("workspace_roots: [src]", "1: workspace_roots[0] must be an absolute path, not src"),
        (
            f"identity: {{tokens: [{{principal: a, sha256: {SHA}}}, {{principal: b, sha256: {SHA}}}]}}",
            "1: identity.tokens[1].sha256 is the token of a too; make b its own",
        ),
    ],
)  # fmt: skip
def test_each_contradiction_is_refused_in_its_own_sentence(tmp_path: Path, text: str, said: str) -> None:
    assert any(line.startswith(said) for line in refusal(tmp_path, text).splitlines()), refusal(tmp_path, text)
